package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.KeyOrder;
import org.pgonce.internal.jdbc.Transactions;

/** The claim that outlives its transaction: one row, leased for a time. */
public final class LeaseStatements {

  // The row as a claim that is held gives it.
  private static final String LEASE =
      "SELECT "
          + ClaimSql.COLUMNS
          + """
            , l.spent, l.died, l.seen, l.busy, l.walked
              FROM pgonce.lease(?, ?, ?::text::uuid, ?, ?, ?, ?, %s) AS l
             CROSS JOIN LATERAL (SELECT (l.claimed).*, NULL::xid AS held) AS c
            """;
  private static final String PLAIN = LEASE.formatted("after => ?");
  private static final String BY_KEY =
      LEASE.formatted(
          "max_per_key => ?, ways => ?::text::text[], keys => ?::text::text[], after_us => ?, after => ?, walk_from => ?");
  private static final String RENEW =
      "SELECT r.id FROM pgonce.renew(?, ?::text::bigint[], ?::text::uuid[], ?) AS r (id)";

  private LeaseStatements() {}

  /**
   * A claim on lease, unless its process died or its attempts were used up before: such a row is
   * not leased, and its attempt not counted, but the transaction has locked it.
   *
   * @param claim null if there is none
   * @param spent whether its attempts were used up before
   * @param seen what the look has seen, where the channel goes by key
   */
  public record Leased(@Nullable Claim claim, boolean spent, KeyLook.@Nullable Seen seen) {}

  /**
   * Leases one row in the caller's transaction, or locks it; none if the channel's mode is not as
   * the caller knows it.
   *
   * @param due whether it looks among the scheduled rows that are due, or among the new ones
   * @param look where it looks; of new rows of a channel that has neither order nor limit per key,
   *     behind which id
   * @param transactions where a long payload is fetched later
   */
  public static Leased lease(
      Connection transaction,
      LeaseRules rules,
      boolean due,
      KeyLook look,
      Transactions transactions)
      throws SQLException {
    var options = rules.options();
    var byKey = options.goesByKey();
    try (var statement = transaction.prepareStatement(byKey ? BY_KEY : PLAIN)) {
      statement.setInt(1, rules.subscription());
      statement.setBoolean(2, due);
      statement.setString(3, UUID.randomUUID().toString());
      statement.setLong(4, rules.lease().toMillis());
      statement.setInt(5, rules.maxAttempts());
      statement.setString(6, options.order().name());
      statement.setString(7, rules.mode().name());
      if (byKey) {
        statement.setObject(
            8, options.order() == KeyOrder.NONE ? options.maxPerKey() : null, Types.INTEGER);
        look.bind(statement, 9);
      } else {
        statement.setLong(8, look.after().id());
      }
      try (var row = statement.executeQuery()) {
        return row.next()
            ? leased(row, rules.subscription(), transactions)
            : new Leased(null, false, null);
      }
    }
  }

  private static Leased leased(ResultSet rows, int subscription, Transactions transactions)
      throws SQLException {
    var row = new ClaimRow(rows);
    return row.isEmpty()
        ? new Leased(null, false, row.seen())
        : new Leased(
            row.leased(subscription, transactions::run), rows.getBoolean("spent"), row.seen());
  }

  /** Prolongs the leases of one subscription; returns the ids of those that are still held. */
  public static Set<Long> renew(
      Connection transaction, int subscription, Collection<Claim> held, Duration lease)
      throws SQLException {
    try (var statement = transaction.prepareStatement(RENEW)) {
      statement.setInt(1, subscription);
      statement.setString(2, array(held.stream().map(Claim::id).toList()));
      statement.setString(3, array(held.stream().map(Claim::token).toList()));
      statement.setLong(4, lease.toMillis());
      var ids = new HashSet<Long>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          ids.add(row.getLong(1));
        }
      }
      return ids;
    }
  }

  // As text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
  private static String array(Collection<?> values) {
    return values.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}"));
  }
}
