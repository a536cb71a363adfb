package org.pgonce.benchmarks.forms;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The SQL that stands beside this class, one file each. */
enum SqlFile {
  TABLE("table.sql"),
  PARTITIONS("partitions.sql"),
  BY_HAND("by-hand.sql"),
  OWN_VACUUM("own-vacuum.sql"),
  EMPTY("empty.sql"),
  STORED("stored.sql");

  private final String text;

  SqlFile(String name) {
    try (var in = SqlFile.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException(name + " is missing from the jar of the benchmarks");
      }
      text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String text() {
    return text;
  }

  /** For the table of this name. */
  String of(String table) {
    return text.formatted(table);
  }
}
