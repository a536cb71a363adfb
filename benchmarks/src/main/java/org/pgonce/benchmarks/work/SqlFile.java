package org.pgonce.benchmarks.work;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** SQL that stands beside a class. */
public final class SqlFile {

  private SqlFile() {}

  /** The text of the file of this name in the class's package. */
  public static String beside(Class<?> owner, String name) {
    try (var in = owner.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException(name + " is missing from the jar of the benchmarks");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
