package org.pgonce.triggers.internal.definition;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.Mode;

/**
 * The function that a channel's triggers run: one per channel. Whatever the writer's session has
 * set, the payload is the same; whatever the writer may not do on pgonce, the row is stored.
 */
public final class CaptureFunction {

  private static final String CREATE =
      """
      CREATE OR REPLACE FUNCTION %1$s() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER
      %2$s
      AS $pgonce$%3$s$pgonce$;
      REVOKE ALL ON FUNCTION %1$s() FROM PUBLIC;
      COMMENT ON FUNCTION %1$s() IS %4$s;
      """;

  // MATERIALIZED: one id per row, shared by the channel's subscriptions. They are looked up and not
  // written into the function, which costs a statement some 8 microseconds: so the function is the
  // same in every database, and a channel that was dropped stores nothing.
  // Where a handler wrote the rows, too deep, they become dead letters instead: the writer goes on.
  private static final String STORE =
      """

      DECLARE
        writer_context constant jsonb := CASE WHEN current_setting('pgonce.context', true) <> '' THEN pgonce.current_context() END;
        writer_depth constant smallint := CASE WHEN current_setting('pgonce.depth', true) <> '' THEN pgonce.current_depth() END;
      BEGIN
        WITH inserted AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, row_to_json(n) AS payload FROM new_rows n
        )
        INSERT INTO pgonce.notification (subscription_id, id, payload, order_key, context, depth)
        SELECT s.id, i.id, i.payload, CASE WHEN c.key_order <> 'NONE' THEN chr(1) || i.id END, writer_context, writer_depth
          FROM inserted i CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
         WHERE c.name = %1$s AND (s.filter IS NULL OR writer_context @> s.filter) AND (writer_depth IS NULL OR writer_depth <= c.max_depth);
        IF FOUND THEN
          PERFORM pgonce.wake_up(%1$s);
        ELSIF writer_depth IS NOT NULL THEN
          WITH inserted AS MATERIALIZED (
            SELECT nextval('pgonce.notification_id') AS id, row_to_json(n) AS payload FROM new_rows n
          )
          INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, order_key, context, depth)
          SELECT s.id, i.id, 0, clock_timestamp(), 'TOO_DEEP', pgonce.too_deep(writer_depth, c.max_depth), i.payload,
                 CASE WHEN c.key_order <> 'NONE' THEN chr(1) || i.id END, writer_context, writer_depth
            FROM inserted i CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
           WHERE c.name = %1$s AND (s.filter IS NULL OR writer_context @> s.filter) AND writer_depth > c.max_depth;
        END IF;
        RETURN NULL;
      END
      """;

  // The keys of all rows first, then those rows whose delivery key was not there. A row is found
  // again by its place in the transition table, which is read in one order. Where the keys cannot
  // be
  // made (a column is gone), the rows are stored without: the writer goes on, and the start of a
  // listener says what is missing. The lock is the one that pgonce.store takes, for the same
  // reason.
  private static final String STORE_BY_KEY =
      """

      DECLARE
        channel pgonce.channel;
        writer_context constant jsonb := pgonce.current_context();
        writer_depth constant smallint := pgonce.current_depth();
        addressed integer[];
        ids bigint[];
        keys text[];
        order_keys text[];
        fingerprints bytea[];
      BEGIN
        LOCK TABLE pgonce.notification IN ROW EXCLUSIVE MODE;
        SELECT c.* INTO channel FROM pgonce.channel c WHERE c.name = %1$s;
        IF NOT FOUND THEN
          RETURN NULL;
        END IF;
        addressed := ARRAY(SELECT s.id FROM pgonce.subscription s WHERE s.channel_id = channel.id AND (s.filter IS NULL OR writer_context @> s.filter));
        BEGIN
          SELECT array_agg(%2$s), array_agg(%3$s), array_agg(%4$s)
            INTO keys, order_keys, fingerprints FROM new_rows n;
        EXCEPTION WHEN OTHERS THEN
          keys := NULL;
          order_keys := NULL;
        END;
        SELECT array_agg(nextval('pgonce.notification_id')) INTO ids FROM new_rows n;
        IF EXISTS (SELECT FROM unnest(keys) AS g (key) WHERE g.key IS NOT NULL) THEN
          SELECT array_agg(CASE WHEN g.key IS NULL OR t.id = g.id THEN g.id END ORDER BY g.n) INTO ids
            FROM unnest(keys, ids) WITH ORDINALITY AS g (key, id, n)
            LEFT JOIN pgonce.take_keys(channel, cardinality(addressed), keys, ids, fingerprints) t ON t.key = g.key;
        END IF;
        IF writer_depth > channel.max_depth THEN
          INSERT INTO pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, delivery_key, order_key, context, depth)
          SELECT s.id, ids[i.n], 0, clock_timestamp(), 'TOO_DEEP', pgonce.too_deep(writer_depth, channel.max_depth), i.payload, keys[i.n],
                 CASE WHEN channel.key_order <> 'NONE' THEN coalesce(order_keys[i.n], chr(1) || ids[i.n]) END, writer_context, writer_depth
            FROM (SELECT row_number() OVER () AS n, row_to_json(n) AS payload FROM new_rows n) i CROSS JOIN unnest(addressed) AS s (id)
           WHERE ids[i.n] IS NOT NULL;
        ELSE
          INSERT INTO pgonce.notification (subscription_id, id, payload, delivery_key, order_key, context, depth)
          SELECT s.id, ids[i.n], i.payload, keys[i.n],
                 CASE WHEN channel.key_order <> 'NONE' THEN coalesce(order_keys[i.n], chr(1) || ids[i.n]) END, writer_context, writer_depth
            FROM (SELECT row_number() OVER () AS n, row_to_json(n) AS payload FROM new_rows n) i CROSS JOIN unnest(addressed) AS s (id)
           WHERE ids[i.n] IS NOT NULL;
          IF FOUND THEN
            PERFORM pgonce.wake_up(%1$s);
          END IF;
        END IF;
        RETURN NULL;
      END
      """;

  private static final String BROADCAST =
      """

      BEGIN
        PERFORM pgonce.broadcast(%1$s, row_to_json(n)::text) FROM new_rows n;
        RETURN NULL;
      END
      """;

  private CaptureFunction() {}

  /** Unquoted, without the schema, which is always pgonce. At most 56 bytes. */
  public static String bareName(Capture capture) {
    return "capture_" + capture.channel();
  }

  public static String name(Capture capture) {
    return "pgonce." + Quoted.identifier(bareName(capture));
  }

  /**
   * What the function pins, by the names that PostgreSQL shows: where names lead to, and all that
   * decides how row_to_json writes a value (lc_monetary for money).
   */
  public static Map<String, String> settings() {
    var settings = new LinkedHashMap<String, String>();
    settings.put("search_path", "pg_catalog, pg_temp");
    settings.put("TimeZone", "UTC");
    settings.put("DateStyle", "ISO, YMD");
    settings.put("IntervalStyle", "iso_8601");
    settings.put("bytea_output", "hex");
    settings.put("extra_float_digits", "1");
    settings.put("lc_monetary", "C");
    return settings;
  }

  public static String body(Capture capture) {
    var channel = Quoted.literal(capture.channel());
    if (capture.mode() == Mode.BROADCAST) {
      return BROADCAST.formatted(channel);
    }
    var keys = capture.keys();
    if (keys.isEmpty()) {
      return STORE.formatted(channel);
    }
    return STORE_BY_KEY.formatted(
        channel,
        KeyColumns.expression(keys.delivery()),
        KeyColumns.expression(keys.order()),
        keys.delivery().isEmpty() ? "NULL::bytea" : "pgonce.fingerprint(row_to_json(n))");
  }

  /** What the definition is known by in the database: in words, and by its hash. */
  public static String comment(Capture capture) {
    return "pgonce: %s, %s, definition %s"
        .formatted(capture.description(), capture.mode(), hash(capture));
  }

  /** To be run as pgonce_owner. */
  public static String create(Capture capture) {
    var settings =
        settings().entrySet().stream().map(CaptureFunction::set).collect(Collectors.joining("\n"));
    return CREATE.formatted(
        name(capture), settings, body(capture), Quoted.literal(comment(capture)));
  }

  private static String set(Map.Entry<String, String> setting) {
    // A list of names is not one text.
    var isList = setting.getKey().equals("search_path");
    return "SET %s = %s"
        .formatted(
            setting.getKey(), isList ? setting.getValue() : Quoted.literal(setting.getValue()));
  }

  /** Drops the triggers that run it too: a lock on their tables that waits for every reader. */
  public static String drop(Capture capture) {
    return "DROP FUNCTION IF EXISTS " + name(capture) + "() CASCADE;\n";
  }

  private static String hash(Capture capture) {
    try {
      var text = capture.description() + settings() + body(capture);
      var digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 6);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
