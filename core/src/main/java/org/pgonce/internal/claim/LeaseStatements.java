package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;

/** The claim that outlives its transaction: one row, leased for a time. */
public final class LeaseStatements {

  private static final String LEASE =
      """
      SELECT %s, %s AS modes, l.spent, l.died, l.seen, l.busy, l.walked
        FROM pgonce.lease(?, ?, ?::text::uuid, ?, ?, ?, ?, max_per_key => ?,
               ways => ?::text::text[], keys => ?::text::text[], after_us => ?, after => ?, walk_from => ?) AS l
       CROSS JOIN LATERAL (SELECT (l.claimed).*, NULL::xid AS held) AS c
      """
          .formatted(Claim.COLUMNS, PoolSettings.COLUMN);
  private static final String RENEW =
      "SELECT r.token FROM pgonce.renew(?, ?::text::bigint[], ?::text::uuid[], ?) AS r (token)";

  private LeaseStatements() {}

  /**
   * By which rules a subscription's notifications are leased.
   *
   * @param mode as this process knows it
   * @param maxAttempts after so many a notification is a dead letter
   */
  public record Rules(
      int subscription, Mode mode, ChannelOptions options, Duration lease, int maxAttempts) {}

  /**
   * Leases one row in the caller's transaction. If it is a suspect or spent, it is locked and not
   * leased. None if the channel's mode is not as the caller knows it.
   *
   * @param due whether it looks among the scheduled rows that are due, or among the new ones
   * @param transactions where a long payload is fetched later
   */
  public static KeyLook.Result lease(
      Connection transaction, Rules rules, boolean due, KeyLook look, Transactions transactions)
      throws SQLException {
    try (var statement = transaction.prepareStatement(LEASE)) {
      statement.setInt(1, rules.subscription());
      statement.setBoolean(2, due);
      statement.setString(3, UUID.randomUUID().toString());
      statement.setLong(4, rules.lease().toMillis());
      statement.setInt(5, rules.maxAttempts());
      statement.setString(6, rules.options().order().name());
      statement.setString(7, rules.mode().name());
      statement.setObject(8, ClaimStatement.maxPerKey(rules.options()), Types.INTEGER);
      look.bind(statement, 9);
      try (var row = statement.executeQuery()) {
        if (!row.next()) {
          return new KeyLook.Result(List.of(), false, null);
        }
        // Statements of the function see what others have committed since it began.
        PoolSettings.Taken.requireFit(row.getString("modes"));
        var seen = KeyLook.Seen.read(row);
        if (row.getString("id") == null) {
          return new KeyLook.Result(List.of(), false, seen);
        }
        var died = row.getBoolean("died");
        var claim = Claim.read(row, rules.subscription(), true, died, null, transactions::run);
        return new KeyLook.Result(List.of(claim), row.getBoolean("spent"), seen);
      }
    }
  }

  /** Prolongs the leases of one subscription; returns the tokens of those that are still held. */
  public static Set<String> renew(
      Connection transaction, int subscription, Collection<Claim> held, Duration lease)
      throws SQLException {
    return Set.copyOf(
        Statements.rows(
            transaction,
            RENEW,
            row -> row.getString("token"),
            subscription,
            Statements.array(held.stream().map(Claim::id).toList()),
            Statements.array(held.stream().map(Claim::token).toList()),
            lease.toMillis()));
  }
}
