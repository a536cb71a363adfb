package org.pgonce.internal.claim;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionState;

/**
 * The texts of the claims.
 *
 * <p>Their plans go by the index because the tables hold padding rows (keep_padding in
 * sql/maintenance.sql). The outer select is for the one row that is locked; columns of the inner
 * one would be computed for each row that is passed over. Operators are qualified since the
 * session's search path is whatever the application makes it.
 */
final class ClaimSql {

  // Of the session; nothing before the last one can hold the separator.
  static final String SEPARATOR = ";";
  static final int VALUES = ClaimHolder.VALUES + 2;
  private static final String OF_SESSION =
      "pg_catalog.concat_ws('%s', %s, %s"
          .formatted(SEPARATOR, ClaimHolder.COLUMNS, PoolSettings.COLUMN);

  // Earliest first. The subselect makes now a bound of the index scan: a volatile function would be
  // a filter over all that is due later.
  private static final String DUE_ROWS =
      """
          SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ?
             AND s.due_at OPERATOR(pg_catalog.<=) (SELECT pg_catalog.clock_timestamp())
           ORDER BY s.due_at, s.id LIMIT %d FOR UPDATE SKIP LOCKED
          """;
  private static final String NEW_ROWS =
      """
          SELECT n.subscription_id, n.id, 0 AS attempts, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, n.xmax AS held
            FROM pgonce.notification AS n
           WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.>) ?
           ORDER BY n.id LIMIT %d FOR UPDATE SKIP LOCKED
          """;
  static final One DUE = One.of(DUE_ROWS.formatted(1));
  static final One NEW = One.of(NEW_ROWS.formatted(1));

  static final Several SEVERAL_DUE = new Several(DUE_ROWS);
  static final Several SEVERAL_NEW = new Several(NEW_ROWS);

  // Those that this process let go a moment ago, on purpose: who held them is known.
  static final String DUE_AGAIN =
      statement(
          """
          SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, '0'::pg_catalog.xid AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
             AND s.attempts OPERATOR(pg_catalog.=) 0 AND s.token IS NULL AND (SELECT pgonce.may_begin_again(?))
           FOR UPDATE SKIP LOCKED
          """);
  static final String NEW_AGAIN =
      statement(
          """
          SELECT n.subscription_id, n.id, 0 AS attempts, n.created_at, n.payload, n.delivery_key, n.order_key, n.context, n.stamp, NULL::pg_catalog.uuid AS token, '0'::pg_catalog.xid AS held
            FROM pgonce.notification AS n
           WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
             AND (SELECT pgonce.may_begin_again(?))
           FOR UPDATE SKIP LOCKED
          """);

  static final String MAY_BEGIN_AGAIN = "SELECT pgonce.may_begin_again(?)";

  private static final String BY_KEY =
      """
      SELECT f.subscription_id, f.id, f.attempts, f.created_at, f.payload, f.delivery_key, f.order_key, f.context, f.stamp, f.token, f.held,
             f.seen, f.busy, f.walked
        FROM pgonce.claim_by_key(%s, %s) AS f
      """;
  static final One DUE_IN_ORDER = byKey("?, true, ?, NULL");
  static final One NEW_IN_ORDER = byKey("?, false, ?, NULL");
  static final One DUE_AND_FREE = byKey("?, true, NULL, ?");
  static final One NEW_AND_FREE = byKey("?, false, NULL, ?");

  private static final String LEASED_ROW =
      """
          SELECT s.subscription_id, s.id, s.attempts, s.created_at, s.payload, s.delivery_key, s.order_key, s.context, s.stamp, s.token, s.xmax AS held
            FROM pgonce.scheduled AS s
           WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ?
             AND CASE WHEN s.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid
                   THEN s.order_key IS NULL OR %s ELSE false END
             FOR UPDATE SKIP LOCKED
          """;
  static final One LEASED =
      One.of(LEASED_ROW.formatted("pgonce.lock_key(s.subscription_id, s.order_key)"));
  static final One LEASED_WITH_PLACE =
      One.of(
          LEASED_ROW.formatted("pgonce.lock_key_permit(s.subscription_id, s.order_key, ?, s.id)"));

  /**
   * held is who locked the row before: nobody, or someone whose transaction did not commit. What is
   * of the session is a subselect of its own, computed once for all rows; where there is one row
   * only, it costs less without.
   *
   * <p>Times are passed as microseconds since 1970, which every driver reads the same. (A double
   * holds them to the microsecond until 2106.)
   */
  private static String statement(String locked) {
    return text("(SELECT " + OF_SESSION + "))", "", locked);
  }

  /**
   * The same for a row that is null where there is none: what is of the session would give its
   * transaction an id for nothing.
   */
  private static One byKey(String rules) {
    var locked = BY_KEY.formatted(rules, KeyLook.PARAMETERS);
    var one = "CASE WHEN c.id IS NOT NULL THEN " + OF_SESSION;
    var seen = ", c.seen, c.busy, c.walked";
    return new One(
        text(one + ") END", seen, locked),
        text(
                one + ", " + SessionState.COLUMN + ") END",
                seen + ", " + Origin.COLUMNS_OF_ROW,
                locked)
            + "; "
            + HandlerSavepoint.SET);
  }

  private static String text(String session, String more, String locked) {
    return """
    SELECT c.id, c.attempts,
           (pg_catalog.date_part('epoch', c.created_at) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8,
           (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) c.created_at)
             OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8,
           CASE WHEN pg_catalog.octet_length(c.payload::pg_catalog.text) OPERATOR(pg_catalog.<=) %d
             THEN c.payload::pg_catalog.text END,
           pg_catalog.octet_length(c.payload::pg_catalog.text),
           %s,
           c.delivery_key, c.context, c.stamp, c.token,
           c.held OPERATOR(pg_catalog.<>) '0'::pg_catalog.xid, c.subscription_id, c.order_key%s
      FROM (%s) AS c
    """
        .formatted(Payload.SHORT, session, more, locked);
  }

  /**
   * One that may be set up for its handler at once, where the driver can send several commands in
   * one message: that saves the handler's first statement a round trip.
   *
   * @param alone the claim
   * @param ready the same with what {@link HandlerSavepoint} would do before that statement
   */
  record One(String alone, String ready) {

    static One of(String locked) {
      return new One(
          statement(locked),
          text(OF_SESSION + ", " + SessionState.COLUMN + ")", ", " + Origin.COLUMNS_OF_ROW, locked)
              + "; "
              + HandlerSavepoint.SET);
    }
  }

  /** For each number of rows one text, made once: at most as many as a batch may have. */
  record Several(String locked, Map<Integer, String> texts) {

    Several(String locked) {
      this(locked, new ConcurrentHashMap<>());
    }

    String text(int most) {
      return texts.computeIfAbsent(most, count -> statement(locked.formatted(count)));
    }
  }

  private ClaimSql() {}
}
