package org.pgonce.triggers.internal.definition;

import org.pgonce.Mode;

/** The body of a capturing function: looks whether its rows can be stored, and stores them. */
final class CaptureBody {

  // A column of the user's may have the name of a variable.
  private static final String BODY =
      """

      #variable_conflict use_column
      DECLARE
        writer_context constant jsonb := CASE WHEN current_setting('pgonce.context', true) <> '' THEN pgonce.current_context() END;
        writer_depth constant smallint := CASE WHEN current_setting('pgonce.depth', true) <> '' THEN pgonce.current_depth() END;
      %sBEGIN
      %s%s  RETURN NULL;
      END
      """;

  // MATERIALIZED: one id per row, shared by the channel's subscriptions. They are looked up and not
  // written into the function, which costs a statement some 8 microseconds: so the function is the
  // same in every database, and a channel that was dropped stores nothing.
  // Where a handler wrote the rows, too deep, they become dead letters instead: the writer goes on.
  private static final String STORE =
      """
        WITH captured AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, c.payload FROM (%2$s) AS c
        )
        INSERT INTO pgonce.notification (subscription_id, id, payload, order_key, context, depth)
        SELECT s.id, i.id, i.payload, CASE WHEN c.key_order <> 'NONE' THEN chr(1) || i.id END, writer_context, writer_depth
          FROM captured i CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
         WHERE c.name = %1$s AND (s.filter IS NULL OR writer_context @> s.filter) AND (writer_depth IS NULL OR writer_depth <= c.max_depth);
        IF FOUND THEN
          PERFORM pgonce.wake_up(%1$s);
        ELSIF writer_depth IS NOT NULL THEN
          PERFORM pgonce.bury_captured(%1$s, 'TOO_DEEP', NULL, (SELECT array_agg(c.payload) FROM (%2$s) AS c), NULL, NULL, writer_context, writer_depth);
        END IF;
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
        IF writer_depth > channel.max_depth THEN
          PERFORM pgonce.bury_captured(%1$s, 'TOO_DEEP', NULL, array_agg(c.payload), array_agg(c.key), array_agg(c.order_key), writer_context, writer_depth)
             FROM (%2$s) AS c;
          RETURN NULL;
        END IF;
        addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel.id AND (s.filter IS NULL OR writer_context @> s.filter));
        WITH captured AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, c.payload, c.key, c.order_key, c.due_at FROM (%2$s) AS c
      %3$s  ), now AS (
          INSERT INTO pgonce.notification (subscription_id, id, payload, delivery_key, order_key, context, depth)
          SELECT s.id, f.id, f.payload, f.key, CASE WHEN channel.key_order <> 'NONE' THEN coalesce(f.order_key, chr(1) || f.id) END, writer_context, writer_depth
            FROM fresh f CROSS JOIN unnest(addressed) AS s (id) WHERE (f.due_at > clock_timestamp()) IS NOT TRUE
          RETURNING true
        ), later AS (
          INSERT INTO pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, delivery_key, order_key, context, depth)
          SELECT s.id, f.id, f.due_at, 0, clock_timestamp(), f.payload, f.key,
                 CASE WHEN channel.key_order <> 'NONE' THEN coalesce(f.order_key, chr(1) || f.id) END, writer_context, writer_depth
            FROM fresh f CROSS JOIN unnest(addressed) AS s (id) WHERE f.due_at > clock_timestamp()
          RETURNING true
        )
        SELECT (SELECT count(*) FROM now), (SELECT count(*) FROM later) INTO stored_now, stored_for_later;
        IF stored_now > 0 THEN
          PERFORM pgonce.wake_up(%1$s);
        END IF;
        IF stored_for_later > 0 THEN
          PERFORM pgonce.wake_up(%1$s, 'later');
        END IF;
      """;

  private static final String ALL_FRESH =
      """
        ), fresh AS MATERIALIZED (
          SELECT c.* FROM captured c
      """;

  private static final String FRESH_KEYS =
      """
        ), taken AS MATERIALIZED (
          SELECT t.key, t.id
            FROM (SELECT array_agg(c.key) AS keys, array_agg(c.id) AS ids, array_agg(pgonce.fingerprint(c.payload)) AS fingerprints
                    FROM captured c WHERE c.key IS NOT NULL) AS g
           CROSS JOIN LATERAL pgonce.take_keys(channel, cardinality(addressed), g.keys, g.ids, g.fingerprints) AS t WHERE g.keys IS NOT NULL
        ), fresh AS MATERIALIZED (
          SELECT c.* FROM captured c LEFT JOIN taken t ON t.key = c.key WHERE c.key IS NULL OR t.id = c.id
      """;

  private static final String SEND =
      """
        PERFORM pgonce.broadcast(%1$s, c.payload::text) FROM (%2$s) AS c;
      """;

  private final CaptureTrigger trigger;
  private final CapturedRows rows;

  CaptureBody(CaptureTrigger trigger) {
    this.trigger = trigger;
    this.rows = new CapturedRows(trigger);
  }

  String text() {
    var capture = trigger.capture();
    var channel = Quoted.literal(capture.channel());
    var keys = capture.stored().keys();
    var trial = new CaptureTrial(trigger, rows);
    var query = trial.query();
    var variables = trial.variables();
    String store;
    if (capture.mode() == Mode.BROADCAST) {
      store = SEND.formatted(channel, query);
    } else if (keys.isEmpty() || (trigger.event() == Event.TRUNCATE && !keys.hasDue())) {
      store = STORE.formatted(channel, query);
    } else {
      variables += KEYED_VARIABLES;
      store =
          STORE_KEYED.formatted(channel, query, keys.delivery().isEmpty() ? ALL_FRESH : FRESH_KEYS);
    }
    return BODY.formatted(variables, trial.text(), store);
  }
}
