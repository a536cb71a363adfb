package org.pgonce.triggers.internal.definition;

import org.pgonce.Mode;
import org.pgonce.triggers.Unstorable;

/** The body of a capturing function: looks whether its rows can be stored, and stores them. */
final class CaptureBody {

  /** By which a variable is named where a column of the user's could have its name. */
  static final String LABEL = "pgonce_call";

  // A column of the user's may have the name of a variable.
  private static final String BODY =
      """

      #variable_conflict use_column
      <<pgonce_call>>
      DECLARE
        writer_context constant jsonb := CASE WHEN current_setting('pgonce.context', true) <> '' THEN pgonce.current_context() END;
        writer_depth constant smallint := CASE WHEN current_setting('pgonce.depth', true) <> '' THEN pgonce.current_depth() END;
      %sBEGIN
      %s%s  RETURN NULL;
      END
      """;

  // Where a handler wrote the rows, too deep, they become dead letters instead: the writer goes on.
  private static final String TOO_DEEP =
      """
        IF writer_depth IS NOT NULL AND pgonce.is_too_deep(%1$s, writer_depth) THEN
          PERFORM pgonce.bury_captured(%1$s, 'TOO_DEEP', NULL, array_agg(c.payload), array_agg(c.key), array_agg(c.order_key), writer_context, writer_depth%3$s)
             FROM (%2$s) AS c;
          RETURN NULL;
        END IF;
      """;

  // The subscriptions are looked up and not written into the function, which costs a call some 3
  // microseconds: so the function is the same in every database, and a channel that was dropped
  // stores nothing.
  private static final String STORE =
      """
      %1$s  INSERT INTO pgonce.notification (subscription_id, id, payload, %3$scontext, stamp)
        SELECT s.id, i.id, i.payload, %4$swriter_context, %6$s
          FROM %2$s AS i CROSS JOIN pgonce.subscription s
         WHERE s.of_channel = %5$s AND (s.filter IS NULL OR writer_context @> s.filter);
        IF FOUND AND pgonce.needs_notify(%5$s) THEN
          PERFORM pgonce.wake_up(%5$s);
        END IF;
      """;

  // MATERIALIZED: one id per row, shared by the channel's subscriptions.
  private static final String ALL_AT_ONCE =
      """
        WITH captured AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, c.payload, c.order_key FROM (%s) AS c%s
        )
      """;

  // What most calls come to: rows that surely can be stored take one statement. With many writers
  // each statement more costs several times what it costs alone, see docs/benchmarks.md.
  private static final String SURE =
      """
        IF writer_depth IS NULL THEN
      %1$s    IF FOUND THEN
            RETURN NULL;
          END IF;
        END IF;
        IF %2$s THEN
          RETURN NULL;
        END IF;
      """;

  private static final String NO_ROWS = "NOT EXISTS (SELECT FROM %s)";
  private static final String NOBODY =
      " OR NOT EXISTS (SELECT FROM pgonce.subscription s WHERE s.of_channel = %s AND (s.filter IS NULL OR writer_context @> s.filter))";

  // The first is no part of a plan that is kept, but decides which: see pgonce.has_own_types.
  private static final String SURELY = " WHERE pgonce.has_own_types(%s) IS FALSE AND %s";

  private static final String ONE =
      "(SELECT row_id AS id, row_payload AS payload, row_order_key AS order_key)";

  // Depth and version in one column, see pgonce.stamp.
  private static final String STAMP_VARIABLE =
      """
        writer_stamp constant integer := pgonce.stamp(writer_depth%s);
      """;

  private static final String KEYED_VARIABLES =
      """
        channel pgonce.channel;
        addressed integer[];
        stored_now bigint;
        stored_for_later bigint;
      """;

  // Of the rows, those whose delivery key was not there, or that have none, are stored. The lock is
  // the one that pgonce.store takes, for the same reason.
  private static final String STORE_KEYED =
      """
        LOCK TABLE pgonce.notification IN ROW EXCLUSIVE MODE;
        SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = %1$s;
        IF NOT FOUND THEN
          RETURN NULL;
        END IF;
        addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.of_channel = %1$s AND (s.filter IS NULL OR writer_context @> s.filter));
        WITH captured AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, c.payload, c.key, c.order_key, c.due_at FROM (%2$s) AS c
      %3$s  ), now AS (
          INSERT INTO pgonce.notification (subscription_id, id, payload, delivery_key, %4$scontext, stamp)
          SELECT s.id, i.id, i.payload, i.key, %5$swriter_context, %6$s
            FROM fresh i CROSS JOIN unnest(addressed) AS s (id) WHERE (i.due_at > clock_timestamp()) IS NOT TRUE
          RETURNING true
        ), later AS (
          INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, %4$scontext, stamp)
          SELECT s.id, i.id, i.due_at, 0, clock_timestamp(), i.payload, i.key, %5$swriter_context, %6$s
            FROM fresh i CROSS JOIN unnest(addressed) AS s (id) WHERE i.due_at > clock_timestamp()
          RETURNING true
        )
        SELECT (SELECT count(*) FROM now), (SELECT count(*) FROM later) INTO stored_now, stored_for_later;
        IF stored_now > 0 AND pgonce.needs_notify(%1$s) THEN
          PERFORM pgonce.wake_up(%1$s);
        END IF;
        IF stored_for_later > 0 AND channel.wake_ups <> 'NEVER' THEN
          PERFORM pgonce.wake_up(%1$s, 'later');
        END IF;
      """;

  private static final String ALL_FRESH =
      """
        ), fresh AS MATERIALIZED (
          SELECT c.* FROM captured c
      """;

  // In parts, as an array holds 1 GB at the most, and in the order in which take_keys inserts, so
  // that two statements do not wait for one another. IN, as that is looked up in a hash table
  // whatever the planner expects: the plan is kept, and that of a join may have been made for one
  // row.
  private static final String FRESH_KEYS =
      """
        ), taken AS MATERIALIZED (
          SELECT t.id
            FROM (SELECT array_agg(k.key) AS keys, array_agg(k.id) AS ids, array_agg(k.fingerprint) AS fingerprints
                    FROM (SELECT c.key, c.id, pgonce.fingerprint(c.payload) AS fingerprint, row_number() OVER (ORDER BY c.key COLLATE "C", c.id) / 10000 AS part
                            FROM captured c WHERE c.key IS NOT NULL) AS k
                   GROUP BY k.part ORDER BY k.part) AS g
           CROSS JOIN LATERAL pgonce.take_keys(channel, cardinality(addressed), g.keys, g.ids, g.fingerprints) AS t
        ), fresh AS MATERIALIZED (
          SELECT c.* FROM captured c WHERE c.key IS NULL OR c.id IN (SELECT t.id FROM taken t)
      """;

  private static final String SEND =
      """
        PERFORM pgonce.broadcast(%1$s, c.payload::text%3$s) FROM (%2$s) AS c;
      """;

  private final CaptureTrigger trigger;
  private final CaptureTrial trial;
  private final Capture.Stored stored;
  private final String channel;
  // As an argument; version 1 goes without saying, and costs nothing.
  private final String version;
  private final String stamp;

  CaptureBody(CaptureTrigger trigger) {
    this.trigger = trigger;
    this.trial = new CaptureTrial(trigger, new CapturedRows(trigger));
    this.stored = trigger.capture().stored();
    this.channel = Quoted.literal(trigger.capture().channel());
    this.version = stored.versionArgument();
    this.stamp = version.isEmpty() ? "writer_depth" : "writer_stamp";
  }

  String text() {
    var mode = trigger.capture().mode();
    var hasStamp = mode != Mode.BROADCAST && !version.isEmpty();
    var hasKeys = mode != Mode.BROADCAST && !arePlain();
    return BODY.formatted(
        trial.variables()
            + (hasStamp ? STAMP_VARIABLE.formatted(version) : "")
            + (hasKeys ? KEYED_VARIABLES : ""),
        sure() + trial.text(),
        mode == Mode.BROADCAST ? SEND.formatted(channel, trial.query(), version) : store());
  }

  private boolean arePlain() {
    var keys = stored.keys();
    return keys.arePlain() || (trigger.event() == Event.TRUNCATE && !keys.hasDue());
  }

  /** What is done before anything is tried. */
  private String sure() {
    if (trigger.capture().mode() == Mode.BROADCAST || !arePlain() || !trial.isMostlySure()) {
      return "";
    }
    var rows = new CapturedRows(trigger, true);
    var name = Quoted.literal(CaptureFunction.name(trigger.bareFunctionName()));
    var sure = SURELY.formatted(name, rows.areSurelyStorable());
    // Where nobody wants them no row is buried; but a write may have to fail of it.
    var nothing =
        NO_ROWS.formatted(trigger.readsOldTable() ? "old_rows" : "new_rows")
            + (stored.unstorable() == Unstorable.FAIL_WRITE ? "" : NOBODY.formatted(channel));
    return SURE.formatted(storeAll(rows.query(), sure), nothing);
  }

  private String storeAll(String query, String condition) {
    return STORE.formatted(
        ALL_AT_ONCE.formatted(query, condition),
        "captured",
        stored.byKey() ? "order_key, " : "",
        orderKey(),
        channel,
        stamp);
  }

  private String store() {
    var tooDeep = TOO_DEEP.formatted(channel, trial.query(), version);
    var orderColumn = stored.byKey() ? "order_key, " : "";
    if (!arePlain()) {
      var fresh = stored.keys().delivery().isEmpty() ? ALL_FRESH : FRESH_KEYS;
      return tooDeep
          + STORE_KEYED.formatted(channel, trial.query(), fresh, orderColumn, orderKey(), stamp);
    }
    return tooDeep
        + (trial.isPerRow()
            ? "  row_id := nextval('pgonce.notification_id');\n"
                + STORE.formatted("", ONE, orderColumn, orderKey(), channel, stamp)
            : storeAll(trial.query(), ""));
  }

  /** Of a row i. Where none is given, it is one of its own: what has none waits for nobody. */
  private String orderKey() {
    return !stored.byKey()
        ? ""
        : stored.keys().order().isEmpty()
            ? "chr(1) || i.id, "
            : "coalesce(i.order_key, chr(1) || i.id), ";
  }
}
