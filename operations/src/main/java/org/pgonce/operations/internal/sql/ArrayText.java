package org.pgonce.operations.internal.sql;

import java.util.Collection;
import java.util.stream.Collectors;

/** An array as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9. */
public final class ArrayText {

  private ArrayText() {}

  /** Of these values' texts, to be cast: {@code ?::text::bigint[]}. */
  public static String of(Collection<?> values) {
    return values.stream()
        .map(value -> '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"')
        .collect(Collectors.joining(",", "{", "}"));
  }
}
