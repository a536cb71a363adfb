package org.pgonce.triggers.internal.definition;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.pgonce.records.internal.catalog.ColumnType;
import org.pgonce.records.internal.catalog.Shape;
import org.pgonce.records.internal.catalog.WatchedTable;

/**
 * The settings that a channel's function pins, by the names that PostgreSQL shows: each write of
 * the table pays for each of them.
 *
 * @param always whatever the table has
 * @param needed by the table as it is
 * @param allowed for whatever table: a function may have been printed for one that was not looked
 *     up, or made before it was altered
 */
public record Pins(
    Map<String, String> always, Map<String, String> needed, Map<String, String> allowed) {

  // Where names lead to.
  private static final Map<String, String> ALWAYS = ordered("search_path", "pg_catalog, pg_temp");

  // What decides how to_json writes values: points in time; ranges of them; intervals; bytes;
  // floats and geometry; money; and what has the name of a catalog's entry. Dates and times by
  // themselves are ISO 8601 in JSON, whatever is set.
  private static final Map<String, String> BY_TYPE =
      ordered(
          "TimeZone", "UTC",
          "DateStyle", "ISO, YMD",
          "IntervalStyle", "iso_8601",
          "bytea_output", "hex",
          "extra_float_digits", "1",
          "lc_monetary", "C",
          "quote_all_identifiers", "off");

  // What decides how SQL of the user's is read.
  private static final Map<String, String> OF_SQL =
      ordered("standard_conforming_strings", "on", "transform_null_equals", "off");

  // Types that are written by one of these alone.
  private static final Map<Shape, String> WRITTEN_BY =
      Map.of(
          Shape.TIMESTAMP_TZ, "TimeZone",
          Shape.INTERVAL, "IntervalStyle",
          Shape.BYTES, "bytea_output",
          Shape.FLOAT4, "extra_float_digits",
          Shape.FLOAT8, "extra_float_digits");

  // May be written by any. The owner of an enum can give it a cast to json at any time: that shall
  // not change the function.
  private static final Set<Shape> WRITTEN_BY_ANY =
      Set.of(Shape.STRING, Shape.ENUM, Shape.COMPOSITE, Shape.UNKNOWN);

  static Pins of(Capture capture, WatchedTable table) {
    var hasSql = !capture.expressions().isEmpty();
    var always = new LinkedHashMap<>(ALWAYS);
    if (hasSql) {
      always.putAll(OF_SQL);
    }
    var allowed = new LinkedHashMap<>(always);
    allowed.putAll(BY_TYPE);
    // SQL may make a value of any type of any column.
    var needsAll = hasSql || !table.isKnown();
    var needed = new LinkedHashMap<>(allowed);
    needed
        .keySet()
        .removeIf(
            setting ->
                !always.containsKey(setting)
                    && !needsAll
                    && table.seenColumns().stream()
                        .noneMatch(column -> isWrittenBy(setting, column.type())));
    return new Pins(always, needed, allowed);
  }

  private static boolean isWrittenBy(String setting, ColumnType type) {
    var element = type.parts().element();
    return WRITTEN_BY_ANY.contains(type.shape())
        || setting.equals(WRITTEN_BY.get(type.shape()))
        || (element != null && isWrittenBy(setting, element));
  }

  private static Map<String, String> ordered(String... namesAndValues) {
    var map = new LinkedHashMap<String, String>();
    for (var i = 0; i < namesAndValues.length; i += 2) {
      map.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return map;
  }
}
