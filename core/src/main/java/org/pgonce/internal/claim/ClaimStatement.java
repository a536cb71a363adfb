package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.internal.claim.ClaimSession.Reader;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.Statements;

/**
 * The claims that live as long as their transaction, which they begin. Rows that others hold are
 * passed over. How long they may take: {@link ClaimSession}.
 *
 * <p>The plan goes by the index because the tables hold padding rows (keep_padding in
 * sql/maintenance.sql). Columns of the inner select would be computed for rows that are passed over
 * too. Operators are qualified since the search path is the application's.
 */
public final class ClaimStatement {

  private static final String NEW =
      """
      SELECT n.id, 0 AS attempts, n.created_at, NULL::pg_catalog.timestamptz AS due_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, n.xmax AS held
        FROM pgonce.notification AS n
       WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND %s FOR UPDATE SKIP LOCKED""";
  private static final String DUE =
      """
      SELECT s.id, s.attempts, s.created_at, s.due_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
        FROM pgonce.scheduled AS s
       WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND %s FOR UPDATE SKIP LOCKED""";

  // The subselect makes now a bound of the index scan: a volatile function would be a filter over
  // all that is due later.
  private static final String FIRST_DUE =
      DUE.formatted(
          "s.due_at OPERATOR(pg_catalog.<=) (SELECT pg_catalog.clock_timestamp()) ORDER BY s.due_at, s.id LIMIT %s");
  private static final String FIRST_NEW =
      NEW.formatted("n.id OPERATOR(pg_catalog.>) ? ORDER BY n.id LIMIT %s");

  // A text for each number of rows: at most as many as a batch may have.
  private static final Map<Integer, Text> FIRST_DUE_ROWS = new ConcurrentHashMap<>();
  private static final Map<Integer, Text> FIRST_NEW_ROWS = new ConcurrentHashMap<>();

  private static final Text NEW_AGAIN =
      Text.ofOne(
          NEW.formatted("n.id OPERATOR(pg_catalog.=) ? AND (SELECT pgonce.may_begin_again(?))"),
          "");
  // The key is locked only if the row is as it was.
  private static final Text DUE_AGAIN =
      Text.ofOne(
          DUE.formatted(
              """
              s.id OPERATOR(pg_catalog.=) ? AND (SELECT pgonce.may_begin_again(?))
              AND CASE WHEN s.attempts OPERATOR(pg_catalog.=) ? AND s.token IS NOT DISTINCT FROM ?::pg_catalog.text::pg_catalog.uuid
                    THEN s.order_key IS NULL OR pgonce.lock_key(s.subscription_id, s.order_key, ?::pg_catalog.int4, s.id)
                    ELSE false END"""),
          "");
  private static final String MAY_BEGIN_AGAIN = "SELECT pgonce.may_begin_again(?) AS may";

  private static final Text BY_KEY =
      Text.ofOne(
          """
          SELECT f.*, CASE WHEN ? THEN (SELECT s.due_at FROM pgonce.scheduled AS s
                   WHERE s.subscription_id OPERATOR(pg_catalog.=) f.subscription_id AND s.id OPERATOR(pg_catalog.=) f.id) END AS due_at
            FROM pgonce.claim_by_key(?, ?, ?, ?, %s) AS f"""
              .formatted(KeyLook.PARAMETERS),
          ", c.seen, c.busy, c.walked");

  private ClaimStatement() {}

  /**
   * The text of a claim, which is made once: a driver looks its statements up by their text.
   *
   * @param isOne whether it claims one row, for which it sets context and depth, and the handler's
   *     savepoint follows
   */
  record Text(String sql, boolean isOne) {

    /**
     * Of one row.
     *
     * @param rows the select that locks it, with the columns of {@link Claim#COLUMNS}
     * @param more further columns, each with a comma before it
     */
    static Text ofOne(String rows, String more) {
      var columns = Claim.COLUMNS + more + ",\n" + NotificationHeaders.COLUMNS_OF_ROW;
      return new Text("SELECT " + columns + " FROM (" + rows + ") AS c", true);
    }

    /** Of any number of rows. */
    static Text ofSeveral(String rows) {
      return new Text("SELECT " + Claim.COLUMNS + " FROM (" + rows + ") AS c", false);
    }
  }

  private static Text first(boolean due, int most) {
    return (due ? FIRST_DUE_ROWS : FIRST_NEW_ROWS)
        .computeIfAbsent(
            most,
            n -> {
              var rows = (due ? FIRST_DUE : FIRST_NEW).formatted(n);
              return n == 1 ? Text.ofOne(rows, "") : Text.ofSeveral(rows);
            });
  }

  /**
   * Claims rows that nobody else holds.
   *
   * @param due whether it looks among the scheduled rows that are due, or among the new ones
   * @param after of new rows, those with a higher id: 0 for all
   * @return in the order of their ids; the transaction is open even if there are none
   */
  public static List<Claim> claim(
      ClaimSession session, int subscription, boolean due, long after, int most)
      throws SQLException {
    return session.claim(
        first(due, most), parameters(subscription, due, after), claims(session, subscription, due));
  }

  private static Pipeline.Binding parameters(int subscription, boolean due, long after) {
    return (statement, first) -> {
      statement.setInt(first, subscription);
      if (!due) {
        statement.setLong(first + 1, after);
      }
    };
  }

  private static Reader<List<Claim>> claims(ClaimSession session, int subscription, boolean due) {
    return (row, holder) -> {
      var claims = new ArrayList<Claim>();
      while (row.next()) {
        claims.add(claim(row, session, subscription, due, holder));
      }
      if (claims.size() > 1) {
        claims.sort(Comparator.comparingLong(Claim::id));
      }
      return claims;
    };
  }

  private static Claim claim(
      ResultSet row, ClaimSession session, int subscription, boolean due, HandlerSession holder)
      throws SQLException {
    // By the token, which a new row does not have, and by the former lock.
    var suspect = row.getString("token") != null || !"0".equals(row.getString("held"));
    return Claim.read(
        row, subscription, due, suspect, holder, work -> work.on(session.connection()));
  }

  /** Adds the claim of one new row, as {@link #claim}, to a message that begins its transaction. */
  public static Pipeline.Sent<List<Claim>> addTo(
      Pipeline message, ClaimSession session, int subscription, long after) {
    return session.addTo(
        message,
        first(false, 1),
        parameters(subscription, false, after),
        claims(session, subscription, false));
  }

  /**
   * Claims a row once more that this process has let go, of a batch or to count its next attempt.
   * None if it is not as the claim has it, or somebody else holds it or its key, or the channel has
   * become AT_MOST_ONCE: its handler may have begun.
   *
   * @return at most one; a suspect only if it was one before, since nobody has died with it
   */
  public static List<Claim> claimAgain(ClaimSession session, Claim before, ChannelOptions rules)
      throws SQLException {
    return session.claim(
        before.scheduled() ? DUE_AGAIN : NEW_AGAIN,
        (statement, first) -> {
          statement.setInt(first, before.subscription());
          statement.setLong(first + 1, before.id());
          statement.setInt(first + 2, before.subscription());
          if (before.scheduled()) {
            statement.setInt(first + 3, before.attempts());
            statement.setString(first + 4, before.token());
            statement.setObject(first + 5, maxPerKey(rules), Types.INTEGER);
          }
        },
        (row, holder) ->
            row.next()
                ? List.of(
                    Claim.read(
                            row,
                            before.subscription(),
                            before.scheduled(),
                            before.suspect(),
                            holder,
                            work -> work.on(session.connection()))
                        .dueAs(before))
                : List.of());
  }

  /** Whether the handler of a claim, whose work is undone, may begin again in its transaction. */
  public static boolean mayBeginAgain(Connection transaction, Claim claim) throws SQLException {
    return Statements.row(
        transaction, MAY_BEGIN_AGAIN, row -> row.getBoolean("may"), claim.subscription());
  }

  /**
   * Claims one row of a channel that has an order or a limit per key. In an order its key is locked
   * until the transaction ends; under a limit, a permit of it.
   */
  public static KeyLook.Result claimByKey(
      ClaimSession session, int subscription, boolean due, ChannelOptions rules, KeyLook look)
      throws SQLException {
    return session.claim(
        BY_KEY,
        (statement, first) -> {
          statement.setBoolean(first, due);
          statement.setInt(first + 1, subscription);
          statement.setBoolean(first + 2, due);
          statement.setBoolean(first + 3, rules.order() == KeyOrder.DEAD_LETTER_BLOCKS);
          statement.setObject(first + 4, maxPerKey(rules), Types.INTEGER);
          look.bind(statement, first + 5);
        },
        (row, holder) -> {
          row.next();
          var isFound = row.getString("id") != null;
          return new KeyLook.Result(
              isFound ? List.of(claim(row, session, subscription, due, holder)) : List.of(),
              false,
              KeyLook.Seen.read(row));
        });
  }

  /** Null where the channel has no limit per key. */
  static @Nullable Integer maxPerKey(ChannelOptions rules) {
    return rules.maxPerKey() == ChannelOptions.NO_MAX_PER_KEY ? null : rules.maxPerKey();
  }
}
