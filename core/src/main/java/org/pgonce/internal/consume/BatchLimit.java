package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * How many notifications of a subscription one transaction of this process may claim. A batch that
 * was undone for a deadlock or a serialization failure halves the limit. The limit doubles again
 * whenever {@link #SHARE} times the time of the last undone batch has gone by, so that about a
 * twentieth of the time is lost to conflicts. It is a time and no number of batches, since a
 * deadlock lasts {@code deadlock_timeout}, as long as hundreds of small batches. Thread-safe.
 */
final class BatchLimit {

  static final int SHARE = 20;

  // A failed batch of a second is usual. One that waited for locks for a minute is no measure.
  private static final Duration LONGEST = Duration.ofSeconds(10);

  private final LongSupplier nanoTime;
  private int most;
  private int now;
  private long restNanos;
  private long growsAt;

  /**
   * @param most the limit without conflicts
   * @param nanoTime as of System
   */
  BatchLimit(int most, LongSupplier nanoTime) {
    this.most = most;
    this.now = most;
    this.nanoTime = nanoTime;
  }

  /** The limit now, at least 1. */
  synchronized int now() {
    return now;
  }

  /**
   * A batch was undone for a conflict.
   *
   * @param size how many it had
   * @param took from its handler's begin to the failure
   */
  synchronized void conflicted(int size, Duration took) {
    now = Math.max(1, Math.min(now, size) / 2);
    restNanos = SHARE * (took.compareTo(LONGEST) < 0 ? took : LONGEST).toNanos();
    growsAt = nanoTime.getAsLong() + restNanos;
  }

  /** A batch of this size met no conflict. One below the limit says nothing of a larger one. */
  synchronized void passed(int size) {
    if (size >= now && now < most && nanoTime.getAsLong() - growsAt >= 0) {
      now = Math.min(most, 2 * now);
      growsAt = nanoTime.getAsLong() + restNanos;
    }
  }

  /** Each notification gets a transaction of its own from now on, for good. */
  synchronized void forbid() {
    most = 1;
    now = 1;
  }
}
