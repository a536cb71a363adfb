package org.pgonce.records.internal.catalog;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A type, seen as to_json writes its values; a domain is seen as its base type.
 *
 * @param name in SQL, with its modifiers: {@code numeric(12,2)}
 * @param plain the type to take for null where there is no value: one that may be null, and that is
 *     not renamed or dropped where it can be helped. Of a domain its base type, of an enum text
 * @param modifier atttypmod of pg_attribute; -1 for none
 * @param parts what it is made of
 */
public record ColumnType(String name, String plain, Shape shape, int modifier, Parts parts) {

  /**
   * What a type is made of.
   *
   * @param element of an array, else null
   * @param dimensions that an array was declared with; PostgreSQL takes values of others too. 0 if
   *     it is no array
   * @param attributes of a composite type
   * @param labels of an enum, in their order
   */
  public record Parts(
      @Nullable ColumnType element, int dimensions, List<Column> attributes, List<String> labels) {}

  /** Whether it is an enum, or an array of one; not a domain. */
  boolean isEnum() {
    var element = parts.element();
    return element == null ? !parts.labels().isEmpty() && !name.equals(plain) : element.isEnum();
  }

  /** Digits behind the point that a numeric is limited to; null if it is not. */
  public @Nullable Integer numericScale() {
    if (shape != Shape.NUMERIC || modifier < 4) {
      return null;
    }
    // As in numeric.c: 11 bits with sign since PostgreSQL 15, and before, 16 without, of which the
    // scale used no more than 10.
    var scale = (modifier - 4) & 0x7ff;
    return (scale ^ 1024) - 1024;
  }

  /** Digits that a numeric is limited to; null if it is not. */
  public @Nullable Integer numericPrecision() {
    return shape != Shape.NUMERIC || modifier < 4 ? null : ((modifier - 4) >> 16) & 0xffff;
  }
}
