package org.pgonce.records.internal.fit;

import static java.util.Map.entry;

import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.internal.catalog.ColumnType;
import org.pgonce.records.internal.catalog.Shape;

/** Whether a Java type takes every value of a column's type, exactly. */
final class TypeFit {

  private static final Map<Shape, Set<Class<?>>> ACCEPTED =
      Map.ofEntries(
          entry(Shape.BOOLEAN, Set.of(boolean.class, Boolean.class)),
          entry(
              Shape.INT2,
              Set.of(
                  short.class,
                  Short.class,
                  int.class,
                  Integer.class,
                  long.class,
                  Long.class,
                  BigInteger.class,
                  BigDecimal.class,
                  float.class,
                  Float.class,
                  double.class,
                  Double.class)),
          entry(
              Shape.INT4,
              Set.of(
                  int.class,
                  Integer.class,
                  long.class,
                  Long.class,
                  BigInteger.class,
                  BigDecimal.class,
                  double.class,
                  Double.class)),
          entry(Shape.INT8, Set.of(long.class, Long.class, BigInteger.class, BigDecimal.class)),
          entry(Shape.NUMERIC, Set.of(BigDecimal.class)),
          entry(
              Shape.FLOAT4,
              Set.of(float.class, Float.class, double.class, Double.class, BigDecimal.class)),
          entry(Shape.FLOAT8, Set.of(double.class, Double.class, BigDecimal.class)),
          entry(Shape.BYTES, Set.of(byte[].class, String.class)),
          entry(Shape.UUID, Set.of(UUID.class, String.class)),
          entry(Shape.DATE, Set.of(LocalDate.class, String.class)),
          entry(Shape.TIME, Set.of(LocalTime.class, String.class)),
          entry(Shape.TIMESTAMP, Set.of(LocalDateTime.class, String.class)),
          entry(
              Shape.TIMESTAMP_TZ,
              Set.of(Instant.class, OffsetDateTime.class, ZonedDateTime.class, String.class)),
          entry(Shape.INTERVAL, Set.of(Duration.class, String.class)));

  private static final Map<Shape, String> ADVICE =
      Map.ofEntries(
          entry(Shape.BOOLEAN, "use boolean"),
          entry(Shape.INT2, "use short, int or long"),
          entry(Shape.INT4, "use int or long"),
          entry(Shape.INT8, "use long, which holds all of its values"),
          entry(Shape.NUMERIC, "use BigDecimal, which keeps it exact"),
          entry(Shape.FLOAT4, "use float or double"),
          entry(Shape.FLOAT8, "use double"),
          entry(Shape.TEXT, "use String"),
          entry(Shape.BYTES, "use byte[]"),
          entry(Shape.UUID, "use java.util.UUID"),
          entry(Shape.DATE, "use LocalDate"),
          entry(Shape.TIME, "use LocalTime"),
          entry(Shape.TIMESTAMP, "it has no time zone, use LocalDateTime"),
          entry(Shape.TIMESTAMP_TZ, "it is a point in time, use Instant or OffsetDateTime"),
          entry(Shape.INTERVAL, "use String, or Duration if it never has months"),
          entry(Shape.JSON, "use JsonNode, Map, List or a record"),
          entry(Shape.ENUM, "use an enum with its labels, or String"),
          entry(Shape.ARRAY, "use a List or an array"),
          entry(Shape.COMPOSITE, "use a record with its attributes, or Map"),
          entry(Shape.STRING, "use String"),
          entry(Shape.UNKNOWN, "use JsonNode"));

  private TypeFit() {}

  /** What is wrong and what to use instead; null if nothing is. */
  static @Nullable String misfit(Type declared, ColumnType column) {
    var type = JavaType.unwrapped(declared);
    var raw = JavaType.raw(type);
    if (raw == Object.class
        || JsonTree.isRoot(raw)
        || ACCEPTED.getOrDefault(column.shape(), Set.of()).contains(raw)
        || JavaType.readsItself(raw)) {
      return null;
    }
    var fits =
        switch (column.shape()) {
          case NUMERIC -> isWhole(raw, column);
          case TEXT -> isText(raw, column);
          case STRING -> raw == String.class || isOwnObject(raw);
          case JSON -> isStructure(raw) || isOwnObject(raw);
          case UNKNOWN -> !raw.isPrimitive() && !raw.isEnum();
          case ENUM -> raw == String.class || raw.isEnum() || isOwnObject(raw);
          case ARRAY -> JavaType.element(type) != null || isOwnObject(raw);
          case COMPOSITE -> isStructure(raw) ? JavaType.element(type) == null : isOwnObject(raw);
          default -> isOwnObject(raw);
        };
    return fits ? inner(type, raw, column) : ADVICE.get(column.shape());
  }

  /** What is wrong inside of a type that fits by itself. */
  private static @Nullable String inner(Type type, Class<?> raw, ColumnType column) {
    var element = column.parts().element();
    var javaElement = JavaType.element(type);
    if (element != null && javaElement != null) {
      if (isDimension(javaElement, element)) {
        return misfit(javaElement, column);
      }
      var misfit = misfit(javaElement, element);
      return misfit == null ? null : "for its elements, " + misfit;
    }
    if (column.shape() == Shape.ENUM && raw.isEnum()) {
      return EnumFit.misfit(raw, column.parts().labels());
    }
    return column.shape() == Shape.COMPOSITE && raw.isRecord()
        ? RecordFit.misfitsOfAttributes(raw, column.parts().attributes())
        : null;
  }

  /**
   * Whether it reads a further dimension of an array and not an element: PostgreSQL does not fix
   * their number. An element of a domain over an array is a list itself.
   */
  static boolean isDimension(Type javaElement, ColumnType element) {
    return JavaType.element(javaElement) != null && misfit(javaElement, element) != null;
  }

  /** A whole number type that holds every value of a numeric without digits behind the point. */
  private static boolean isWhole(Class<?> raw, ColumnType column) {
    var scale = column.numericScale();
    var precision = column.numericPrecision();
    if (scale == null || precision == null || scale > 0) {
      return false;
    }
    var digits = precision - scale;
    if (raw == int.class || raw == Integer.class) {
      return digits <= 9;
    }
    return raw == BigInteger.class || (digits <= 18 && (raw == long.class || raw == Long.class));
  }

  /** What reads a JSON string: no number, nothing with parts. */
  private static boolean isText(Class<?> raw, ColumnType column) {
    if (raw == char.class || raw == Character.class) {
      return column.modifier() == 5; // varchar(1) or char(1): the length and 4
    }
    return !raw.isPrimitive()
        && !isStructure(raw)
        && raw != Boolean.class
        && raw != byte[].class
        && !Number.class.isAssignableFrom(raw);
  }

  private static boolean isStructure(Class<?> raw) {
    return raw.isRecord()
        || Map.class.isAssignableFrom(raw)
        || JsonTree.is(raw)
        || Collection.class.isAssignableFrom(raw)
        || (raw.isArray() && raw != byte[].class);
  }

  /** A class of the application: how it reads itself is its own affair. */
  private static boolean isOwnObject(Class<?> raw) {
    return !raw.isPrimitive()
        && !raw.isArray()
        && !raw.isEnum()
        && !isStructure(raw)
        && !raw.getName().startsWith("java.");
  }
}
