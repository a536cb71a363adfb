package org.pgonce.testkit;

import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The seed of this JVM's random faults: {@code pgonce.test.seed}, or else random and printed, so
 * that a failure can be replayed.
 */
public final class Seed {

  private static final String PROPERTY = "pgonce.test.seed";
  private static final long VALUE =
      Long.getLong(PROPERTY, ThreadLocalRandom.current().nextLong(1_000_000_000));

  private Seed() {}

  public static long value() {
    return VALUE;
  }

  /**
   * Prints the seed and starts a new sequence from it: the same numbers whether a test runs alone
   * or after others.
   */
  public static Random random() {
    System.out.printf("seed %d - replay with -D%s=%d%n", VALUE, PROPERTY, VALUE);
    return new Random(VALUE);
  }
}
