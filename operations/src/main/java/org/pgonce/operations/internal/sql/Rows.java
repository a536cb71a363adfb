package org.pgonce.operations.internal.sql;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What a query has found: the columns' names are those of the JSON, and stay.
 *
 * @param values texts, numbers, booleans, {@link java.time.Instant}, {@link java.time.Duration},
 *     {@link JsonText} and lists of such; null for SQL null
 */
public record Rows(List<String> columns, List<List<@Nullable Object>> values) {

  public boolean isEmpty() {
    return values.isEmpty();
  }

  /** One column of all rows. */
  public List<@Nullable Object> column(String name) {
    var at = columns.indexOf(name);
    return values.stream().<@Nullable Object>map(row -> row.get(at)).toList();
  }

  /** These columns only, for a table; headed by other names where «column=heading» is given. */
  public Rows only(String... wanted) {
    var headings = new ArrayList<String>();
    var places = new ArrayList<Integer>();
    for (var one : wanted) {
      var name = one.split("=", 2);
      places.add(columns.indexOf(name[0]));
      headings.add(name[name.length - 1]);
    }
    var rows = new ArrayList<List<@Nullable Object>>();
    for (var row : values) {
      var some = new ArrayList<@Nullable Object>();
      places.forEach(place -> some.add(row.get(place)));
      rows.add(some);
    }
    return new Rows(headings, rows);
  }

  /** The same, with other values in one column. */
  public Rows with(String column, UnaryOperator<@Nullable Object> value) {
    var at = columns.indexOf(column);
    var rows = new ArrayList<List<@Nullable Object>>();
    for (var row : values) {
      var other = new ArrayList<>(row);
      other.set(at, value.apply(row.get(at)));
      rows.add(other);
    }
    return new Rows(columns, rows);
  }

  public List<Map<String, @Nullable Object>> objects() {
    var objects = new ArrayList<Map<String, @Nullable Object>>();
    for (var row : values) {
      var object = new LinkedHashMap<String, @Nullable Object>();
      for (var column = 0; column < columns.size(); column++) {
        object.put(columns.get(column), row.get(column));
      }
      objects.add(Collections.unmodifiableMap(object));
    }
    return objects;
  }
}
