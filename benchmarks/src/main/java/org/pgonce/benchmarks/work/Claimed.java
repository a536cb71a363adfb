package org.pgonce.benchmarks.work;

import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** A row that a transaction by hand holds. */
record Claimed(long id, long workId, String name) {

  /** An array literal. */
  static String array(List<Claimed> rows, ToLongFunction<Claimed> column) {
    return rows.stream()
        .map(row -> String.valueOf(column.applyAsLong(row)))
        .collect(Collectors.joining(",", "{", "}"));
  }
}
