package org.pgonce.triggers.internal.definition;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.records.internal.catalog.WatchedTable;

/**
 * A key of a row's columns, as SQL.
 *
 * @param row the row, as a list of its columns
 */
record ColumnKey(WatchedTable table, String row) {

  // By how many characters they have at most.
  private static final Map<String, Integer> SHORT =
      Map.of("smallint", 6, "integer", 11, "bigint", 20, "uuid", 36);

  private static final int LONGEST_KEY = 500;

  /**
   * Of the from list, with the column {@code key}: PostgreSQL would prepare a subselect with each
   * call. Nothing if there are no columns.
   */
  List<String> from(List<String> columns, String name) {
    var names = columns.stream().map(Quoted::identifier).toList();
    return names.isEmpty()
        ? List.of()
        : List.of(
            "LATERAL (SELECT pgonce_row.* FROM (SELECT NULL::text AS %s) AS pgonce_gone, LATERAL (SELECT %s AS key FROM (SELECT %s) AS pgonce_all) AS pgonce_row) AS %s"
                .formatted(String.join(", NULL::text AS ", names), key(columns, names), row, name));
  }

  /** Of the values as the payload writes them. Null if one is. */
  private String key(List<String> columns, List<String> names) {
    // These need no escapes, and are short.
    var longest = columns.size() - 1;
    for (var column : columns) {
      longest += SHORT.getOrDefault(table.typeOf(column), LONGEST_KEY + 1);
    }
    if (longest > LONGEST_KEY) {
      return rowKey(names, "pgonce.key_part(to_json(%s))");
    }
    var text =
        names.stream().map(name -> name + "::text").collect(Collectors.joining(" || ':' || "));
    // They may hold text by now, which must neither fail its writer nor be taken for another.
    var isOther = "length(%s) > %s".formatted(text, LONGEST_KEY);
    if (names.size() > 1) {
      isOther +=
          " OR length(translate(%1$s, ':%%', '')) + %2$s <> length(%1$s)"
              .formatted(text, names.size() - 1);
    }
    return "CASE WHEN %s THEN %s ELSE nullif(%s, '') END"
        .formatted(isOther, rowKey(names, "%s::text"), text);
  }

  private static String rowKey(List<String> names, String part) {
    return names.stream()
        .map(part::formatted)
        .collect(Collectors.joining(", ", "pgonce.row_key(", ")"));
  }
}
