package org.pgonce.records.internal.fit;

import java.util.HashMap;
import java.util.Map;

/** Which Java types can hold a row. */
public final class RowType {

  private RowType() {}

  /**
   * Returns the type if it can hold a row, as far as that can be told without a database.
   *
   * @throws IllegalArgumentException that says what to use instead
   */
  public static <T> Class<T> requireRow(Class<T> type) {
    if (type.isRecord()) {
      requireDistinctColumns(type);
      return type;
    }
    if (!canBeObject(type)) {
      throw new IllegalArgumentException(
          "a row cannot be a %s: use a record whose components are columns, or JsonNode, or Map"
              .formatted(type.getName()));
    }
    return type;
  }

  /** Whether it may be what a JSON object is read as. */
  private static boolean canBeObject(Class<?> type) {
    if (JsonTree.is(type)) {
      return JsonTree.takesObject(type);
    }
    if (type.getName().startsWith("java.")) {
      return type == Object.class || Map.class.isAssignableFrom(type);
    }
    return !type.isPrimitive() && !type.isEnum() && !type.isArray() && !type.isAnnotation();
  }

  private static void requireDistinctColumns(Class<?> type) {
    var readers = new HashMap<String, String>();
    for (var component : type.getRecordComponents()) {
      var column = ColumnName.of(component).name();
      var other = readers.put(column, component.getName());
      if (other != null) {
        throw new IllegalArgumentException(
            "components %s and %s of record %s both read column %s: rename one, or say @JsonProperty(\"its_column\")"
                .formatted(other, component.getName(), type.getName(), column));
      }
    }
  }
}
