package org.pgonce.internal.jdbc;

import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Arrays as the text that PostgreSQL reads: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
 */
public final class SqlArray {

  private SqlArray() {}

  /**
   * An array of the texts of these values.
   *
   * @param element what an element is called where it is null
   */
  public static String of(String element, List<?> values) {
    return values.stream()
        .map(value -> Objects.requireNonNull(value, element).toString())
        .map(text -> '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
        .collect(Collectors.joining(",", "{", "}"));
  }
}
