package org.pgonce.benchmarks.work;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** The machine's clock, which all of its processes share: System.nanoTime is each JVM's own. */
public final class Wall {

  private Wall() {}

  /** Microseconds since 1970. */
  public static long micros() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
