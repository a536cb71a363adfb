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

  // Where names lead to, and what decides how to_json writes dates, intervals and bytes: a column
  // that is added later may be of such a type.
  private static final Map<String, String> ALWAYS =
      ordered(
          "search_path", "pg_catalog, pg_temp",
          "TimeZone", "UTC",
          "DateStyle", "ISO, YMD",
          "IntervalStyle", "iso_8601",
          "bytea_output", "hex");

  // The same for floats and geometry; money; and what has the name of a catalog's entry.
  private static final Map<String, String> BY_TYPE =
      ordered("extra_float_digits", "1", "lc_monetary", "C", "quote_all_identifiers", "off");

  // What decides how SQL of the user's is read.
  private static final Map<String, String> OF_SQL =
      ordered("standard_conforming_strings", "on", "transform_null_equals", "off");

  // The owner of an enum can give it a cast to json at any time: that shall not change the
  // function.
  private static final Set<Shape> WRITTEN_BY_SETTING =
      Set.of(Shape.FLOAT4, Shape.FLOAT8, Shape.STRING, Shape.ENUM, Shape.COMPOSITE, Shape.UNKNOWN);

  static Pins of(Capture capture, WatchedTable table) {
    var hasSql = !capture.expressions().isEmpty();
    var always = new LinkedHashMap<>(ALWAYS);
    if (hasSql) {
      always.putAll(OF_SQL);
    }
    var allowed = new LinkedHashMap<>(always);
    allowed.putAll(BY_TYPE);
    // SQL may make such a value of any column.
    var needsAll =
        hasSql
            || !table.isKnown()
            || table.seenColumns().stream().anyMatch(column -> isWrittenBySetting(column.type()));
    return new Pins(always, needsAll ? allowed : always, allowed);
  }

  private static boolean isWrittenBySetting(ColumnType type) {
    var element = type.parts().element();
    return WRITTEN_BY_SETTING.contains(type.shape())
        || (element != null && isWrittenBySetting(element));
  }

  private static Map<String, String> ordered(String... namesAndValues) {
    var map = new LinkedHashMap<String, String>();
    for (var i = 0; i < namesAndValues.length; i += 2) {
      map.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return map;
  }
}
