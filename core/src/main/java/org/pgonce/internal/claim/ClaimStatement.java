package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.internal.claim.ClaimSession.HeldBy;

/**
 * The claims that live as long as their transaction, which they begin: rows that others hold are
 * passed over.
 */
public final class ClaimStatement {

  // Earliest first. The subselect makes now a bound of the index scan: a volatile function would be
  // a filter over all that is due later.
  private static final String DUE_ROWS =
      """
      SELECT s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
        FROM pgonce.scheduled AS s
       WHERE s.subscription_id OPERATOR(pg_catalog.=) ?
         AND s.due_at OPERATOR(pg_catalog.<=) (SELECT pg_catalog.clock_timestamp())
       ORDER BY s.due_at, s.id LIMIT %d FOR UPDATE SKIP LOCKED""";

  private static final String NEW_ROWS =
      """
      SELECT n.id, 0 AS attempts, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, n.xmax AS held
        FROM pgonce.notification AS n
       WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.>) ?
       ORDER BY n.id LIMIT %d FOR UPDATE SKIP LOCKED""";

  // For each number of rows one text: at most as many as a batch may have.
  private static final Map<Integer, ClaimSql> DUE = new ConcurrentHashMap<>();
  private static final Map<Integer, ClaimSql> NEW = new ConcurrentHashMap<>();

  // Those that this process let go a moment ago, on purpose: who held them is known.
  private static final ClaimSql DUE_AGAIN =
      new ClaimSql(
          """
          SELECT s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, '0'::pg_catalog.xid AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
             AND s.attempts OPERATOR(pg_catalog.=) 0 AND s.token IS NULL AND (SELECT pgonce.may_begin_again(?))
           FOR UPDATE SKIP LOCKED""",
          false);
  private static final ClaimSql NEW_AGAIN =
      new ClaimSql(
          """
          SELECT n.id, 0 AS attempts, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, '0'::pg_catalog.xid AS held
            FROM pgonce.notification AS n
           WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
             AND (SELECT pgonce.may_begin_again(?))
           FOR UPDATE SKIP LOCKED""",
          false);
  private static final String MAY_BEGIN_AGAIN = "SELECT pgonce.may_begin_again(?)";

  private static final ClaimSql DUE_IN_ORDER = byKey("?, true, ?, NULL");
  private static final ClaimSql NEW_IN_ORDER = byKey("?, false, ?, NULL");
  private static final ClaimSql DUE_AND_FREE = byKey("?, true, NULL, ?");
  private static final ClaimSql NEW_AND_FREE = byKey("?, false, NULL, ?");

  private static final String LEASED_ROW =
      """
      SELECT s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
        FROM pgonce.scheduled AS s
       WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ?
         AND CASE WHEN s.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid
               THEN s.order_key IS NULL OR %s ELSE false END
       FOR UPDATE SKIP LOCKED""";
  private static final ClaimSql LEASED =
      new ClaimSql(LEASED_ROW.formatted("pgonce.lock_key(s.subscription_id, s.order_key)"), true);
  private static final ClaimSql LEASED_WITH_PERMIT =
      new ClaimSql(
          LEASED_ROW.formatted("pgonce.lock_key_permit(s.subscription_id, s.order_key, ?, s.id)"),
          true);

  private ClaimStatement() {}

  private static ClaimSql byKey(String rules) {
    return new ClaimSql(
        "SELECT f.* FROM pgonce.claim_by_key(%s, %s) AS f".formatted(rules, KeyLook.PARAMETERS),
        true,
        KeyLook.COLUMNS);
  }

  private static ClaimSql rows(boolean due, int most) {
    return due
        ? DUE.computeIfAbsent(most, n -> new ClaimSql(DUE_ROWS.formatted(n), n == 1))
        : NEW.computeIfAbsent(most, n -> new ClaimSql(NEW_ROWS.formatted(n), n == 1));
  }

  /**
   * Claims rows that nobody else holds.
   *
   * @param due whether it looks among the scheduled rows that are due, or among the new ones
   * @param after of new rows, those with a higher id: 0 for all
   * @param most how many at the most
   * @return in the order of their ids; the transaction is open also where there are none
   */
  public static List<Claim> claim(
      ClaimSession session, int subscription, boolean due, long after, int most)
      throws SQLException {
    return session.claim(
        rows(due, most),
        rows(subscription, due, after),
        (row, held) -> claims(row, subscription, due, held));
  }

  // One new row, by a claim behind a commit in its message.

  public static String textBehindCommit(ClaimSession session) {
    return session.textBehindCommit(rows(false, 1));
  }

  public static void bindBehindCommit(
      ClaimSession session, PreparedStatement statement, int first, int subscription, long after)
      throws SQLException {
    session.bind(statement, first, rows(subscription, false, after));
  }

  /**
   * What it has found.
   *
   * @param executed at its result
   */
  public static List<Claim> readBehindCommit(
      ClaimSession session, Statement executed, int subscription) throws SQLException {
    return session.claimed(
        rows(false, 1), executed, (row, held) -> claims(row, subscription, false, held));
  }

  private static ClaimSession.Parameters rows(int subscription, boolean due, long after) {
    return (statement, first) -> {
      statement.setInt(first, subscription);
      if (!due) {
        statement.setLong(first + 1, after);
      }
    };
  }

  /**
   * Claims once more what a claim of several had: those of them that are there as they were and
   * that nobody else holds. None if the channel has become AT_MOST_ONCE meanwhile: the handler has
   * begun.
   *
   * @param before at least one, never tried before
   */
  public static List<Claim> claimAgain(ClaimSession session, List<Claim> before)
      throws SQLException {
    var subscription = before.get(0).subscription();
    var due = before.get(0).scheduled();
    return session.claim(
        due ? DUE_AGAIN : NEW_AGAIN,
        (statement, first) -> {
          statement.setInt(first, subscription);
          statement.setString(first + 1, Claim.ids(before));
          statement.setInt(first + 2, subscription);
        },
        (row, held) -> claims(row, subscription, due, held));
  }

  /** Whether the handler of a claim, whose work is undone, may begin again in its transaction. */
  public static boolean mayBeginAgain(Connection transaction, Claim claim) throws SQLException {
    try (var statement = transaction.prepareStatement(MAY_BEGIN_AGAIN)) {
      statement.setInt(1, claim.subscription());
      try (var row = statement.executeQuery()) {
        return row.next() && row.getBoolean(1);
      }
    }
  }

  /**
   * Claims one row where those of one key wait for one another. In an order the key is locked with
   * the row, and no other row of it is claimed by anyone before the transaction ends; under a
   * limit, a place of it.
   *
   * @param rules the channel's, which has an order or a limit per key
   */
  public static KeyLook.Result claimByKey(
      ClaimSession session, int subscription, boolean due, ChannelOptions rules, KeyLook look)
      throws SQLException {
    var limited = rules.order() == KeyOrder.NONE;
    return session.claim(
        limited ? (due ? DUE_AND_FREE : NEW_AND_FREE) : (due ? DUE_IN_ORDER : NEW_IN_ORDER),
        (statement, first) -> {
          statement.setInt(first, subscription);
          if (limited) {
            statement.setInt(first + 1, rules.maxPerKey());
          } else {
            statement.setBoolean(first + 1, rules.order() == KeyOrder.DEAD_LETTER_BLOCKS);
          }
          look.bind(statement, first + 2);
        },
        (rows, held) -> {
          rows.next();
          var row = new ClaimRow(rows);
          return new KeyLook.Result(
              row.isEmpty() ? null : row.held(subscription, due, held), row.seen());
        });
  }

  /**
   * Claims a row that was leased with the token.
   *
   * @return at most one: none if it is not there with the token, or somebody holds it
   */
  public static List<Claim> claimLeased(
      ClaimSession session, Claim before, String token, ChannelOptions rules) throws SQLException {
    var limited = rules.maxPerKey() != ChannelOptions.NO_MAX_PER_KEY;
    return session.claim(
        limited ? LEASED_WITH_PERMIT : LEASED,
        (statement, first) -> {
          statement.setInt(first, before.subscription());
          statement.setLong(first + 1, before.id());
          statement.setString(first + 2, token);
          if (limited) {
            statement.setInt(first + 3, rules.maxPerKey());
          }
        },
        (row, held) -> claims(row, before.subscription(), true, held));
  }

  private static List<Claim> claims(ResultSet rows, int subscription, boolean due, HeldBy held)
      throws SQLException {
    var claims = new ArrayList<Claim>();
    while (rows.next()) {
      claims.add(new ClaimRow(rows).held(subscription, due, held));
    }
    if (claims.size() > 1) {
      claims.sort(Comparator.comparingLong(Claim::id));
    }
    return claims;
  }
}
