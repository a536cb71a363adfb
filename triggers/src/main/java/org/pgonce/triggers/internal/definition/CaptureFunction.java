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
  private static final String STORE =
      """

      BEGIN
        WITH inserted AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, row_to_json(n) AS payload FROM new_rows n
        )
        INSERT INTO pgonce.notification (subscription_id, id, payload)
        SELECT s.id, i.id, i.payload
          FROM inserted i CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
         WHERE c.name = %1$s;
        IF FOUND THEN
          PERFORM pgonce.wake_up(%1$s);
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
    var form = capture.mode() == Mode.BROADCAST ? BROADCAST : STORE;
    return form.formatted(Quoted.literal(capture.channel()));
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
