package org.pgonce.records.internal.fit;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.internal.catalog.Column;

/**
 * The column that a record component reads: as the standard codec names it.
 *
 * @param aliases other names that are read too
 */
public record ColumnName(String name, List<String> aliases) {

  // Where Jackson's SNAKE_CASE puts an underscore.
  private static final Pattern WORD =
      Pattern.compile("(?<=[^_\\p{javaUpperCase}])(?=\\p{javaUpperCase})");

  static ColumnName of(RecordComponent component) {
    var property = JavaType.annotation(component, JsonProperty.class);
    var alias = JavaType.annotation(component, JsonAlias.class);
    return new ColumnName(
        property == null || property.value().isEmpty()
            ? byDefault(component.getName())
            : property.value(),
        alias == null ? List.of() : List.of(alias.value()));
  }

  /** The column that a component of this name reads if no annotation says otherwise. */
  public static String byDefault(String component) {
    var words = WORD.matcher(component.replaceFirst("^_", "")).replaceAll("_");
    return words.isEmpty()
        ? component
        : words
            .chars()
            .map(letter -> Character.isUpperCase(letter) ? Character.toLowerCase(letter) : letter)
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
            .toString();
  }

  /** Null if there is none. */
  @Nullable Column in(List<Column> columns) {
    return allIn(columns).stream().findFirst().orElse(null);
  }

  /** More than one where there are columns of several of its names. */
  List<Column> allIn(List<Column> columns) {
    return columns.stream()
        .filter(column -> column.name().equals(name) || aliases.contains(column.name()))
        .toList();
  }

  /** A column that differs in letter case and underscores only; null if there is none. */
  @Nullable String nearMiss(List<Column> columns) {
    return columns.stream()
        .map(Column::name)
        .filter(column -> plain(column).equals(plain(name)))
        .findFirst()
        .orElse(null);
  }

  private static String plain(String text) {
    return text.replace("_", "").toLowerCase(Locale.ROOT);
  }
}
