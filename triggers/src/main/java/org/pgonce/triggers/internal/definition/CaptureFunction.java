package org.pgonce.triggers.internal.definition;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.triggers.TriggerForm;

/**
 * The function that a trigger runs: one per trigger. Whatever the writer's session has set, the
 * payload is the same; whatever the writer may not do on pgonce, the row is stored.
 */
public record CaptureFunction(CaptureTrigger trigger) {

  private static final String CREATE =
      """
      CREATE OR REPLACE FUNCTION %1$s() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER
      %2$s
      AS %3$s;
      REVOKE ALL ON FUNCTION %1$s() FROM PUBLIC;
      COMMENT ON FUNCTION %1$s() IS %4$s;
      """;

  public String name() {
    return name(trigger.bareFunctionName());
  }

  /** Quoted, with the schema. */
  public static String name(String bareName) {
    return "pgonce." + Quoted.identifier(bareName);
  }

  /**
   * What the function pins, by the names that PostgreSQL shows: where names lead to, and all that
   * decides how row_to_json writes a value (lc_monetary for money). Where it has SQL of the user's,
   * also what decides how that is read. Per statement, that plans are kept: left to itself,
   * PostgreSQL (14 to 18) takes what plans for single rows have cost for a measure, and where a
   * kept one has to be made anew just as many rows are written, as after an ANALYZE, it makes one
   * for each statement from then on, which costs single rows as much as all else together.
   */
  public Map<String, String> settings() {
    var settings = new LinkedHashMap<String, String>();
    settings.put("search_path", "pg_catalog, pg_temp");
    settings.put("TimeZone", "UTC");
    settings.put("DateStyle", "ISO, YMD");
    settings.put("IntervalStyle", "iso_8601");
    settings.put("bytea_output", "hex");
    settings.put("extra_float_digits", "1");
    settings.put("lc_monetary", "C");
    settings.put("quote_all_identifiers", "off");
    if (trigger.form() == TriggerForm.STATEMENT) {
      settings.put("plan_cache_mode", "force_generic_plan");
    }
    if (!trigger.capture().expressions().isEmpty()) {
      settings.put("standard_conforming_strings", "on");
      settings.put("transform_null_equals", "off");
    }
    return settings;
  }

  public String body() {
    return new CaptureBody(trigger).text();
  }

  /** What the definition is known by in the database: in words, and by its hash. */
  public String comment() {
    var capture = trigger.capture();
    var version = capture.stored().rules().version();
    return "pgonce: %s, %s,%s definition %s"
        .formatted(
            capture.description(),
            capture.mode(),
            version == 1 ? "" : " version " + version + ",",
            hash());
  }

  /** To be run as pgonce_owner. */
  public String create() {
    var settings =
        settings().entrySet().stream().map(CaptureFunction::set).collect(Collectors.joining("\n"));
    return CREATE.formatted(name(), settings, Quoted.dollar(body()), Quoted.literal(comment()));
  }

  private static String set(Map.Entry<String, String> setting) {
    // A list of names is not one text.
    var isList = setting.getKey().equals("search_path");
    return "SET %s = %s"
        .formatted(
            setting.getKey(), isList ? setting.getValue() : Quoted.literal(setting.getValue()));
  }

  /** Drops the triggers that run it too: a lock on their tables that waits for every reader. */
  public static String drop(String bareName) {
    return "DROP FUNCTION IF EXISTS " + name(bareName) + "() CASCADE;\n";
  }

  private String hash() {
    try {
      var capture = trigger.capture();
      var text = capture.description() + trigger.create(capture.table()) + settings() + body();
      var digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 6);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
