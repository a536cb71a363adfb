package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * How long a drain rests before its next worker begins: not at all in the normal case; a few
 * milliseconds when wake-ups keep coming and there is nothing to claim (many processes and little
 * work, or somebody floods the channel with NOTIFY); longer when the database is in trouble.
 * Guarded by the drain's lock.
 */
final class Pace {

  // As many idle claims in a row as a herd of processes makes honestly; then at most 100 more per
  // second.
  private static final int FRUITLESS = 32;
  private static final Duration BREATH = Duration.ofMillis(10);
  private static final long FIRST_TROUBLE_MS = 50;
  private static final long LONGEST_TROUBLE_MS = 1_000;

  private int fruitless;
  private int troubles;
  private boolean rested;

  void claimed(boolean something) {
    fruitless = something ? 0 : Math.min(fruitless + 1, FRUITLESS);
    troubles = 0;
  }

  /** Where rows wait that cannot be claimed, each scan leads to claims in vain: no herd. */
  void polled() {
    fruitless = 0;
  }

  void troubled() {
    troubles = Math.min(troubles + 1, 10);
  }

  /** The rest that {@link #rest} asked for is over. */
  void rested() {
    rested = true;
  }

  Duration rest() {
    if (rested) {
      rested = false;
      return Duration.ZERO;
    }
    if (troubles > 0) {
      var longest = Math.min(FIRST_TROUBLE_MS << troubles, LONGEST_TROUBLE_MS);
      return Duration.ofMillis(ThreadLocalRandom.current().nextLong(longest / 2, longest + 1));
    }
    return fruitless >= FRUITLESS ? BREATH : Duration.ZERO;
  }
}
