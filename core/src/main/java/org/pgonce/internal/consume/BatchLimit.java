package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * How many notifications of a subscription one transaction of this process may claim. A batch that
 * PostgreSQL undid for a deadlock or a serialization failure halves the limit. After that the limit
 * doubles whenever {@link #SHARE} times the time of the last undone batch went by without another
 * one, so that about a twentieth of the time is lost to conflicts. A deadlock costs {@code
 * deadlock_timeout}, 1 s by default, which is the time of hundreds of small batches: a limit that
 * grew with each ten batches met the next deadlock at once. Thread-safe.
 */
final class BatchLimit {

  static final int SHARE = 20;

  // A failed batch of a second is usual. One that waited for locks for a minute is no measure.
  private static final Duration LONGEST = Duration.ofSeconds(10);

  private final LongSupplier nanoTime;
  private final ReentrantLock lock = new ReentrantLock();
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
  int now() {
    lock.lock();
    try {
      return now;
    } finally {
      lock.unlock();
    }
  }

  /**
   * A batch was undone for a conflict.
   *
   * @param size how many it had
   * @param took from its handler's begin to the failure
   */
  void conflicted(int size, Duration took) {
    lock.lock();
    try {
      now = Math.max(1, Math.min(now, size) / 2);
      restNanos = SHARE * (took.compareTo(LONGEST) < 0 ? took : LONGEST).toNanos();
      growsAt = nanoTime.getAsLong() + restNanos;
    } finally {
      lock.unlock();
    }
  }

  /** A batch of this size met no conflict. One below the limit says nothing of a larger one. */
  void passed(int size) {
    lock.lock();
    try {
      if (size >= now && now < most && nanoTime.getAsLong() - growsAt >= 0) {
        now = Math.min(most, 2 * now);
        growsAt = nanoTime.getAsLong() + restNanos;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Each notification gets a transaction of its own from now on, for good. */
  void forbid() {
    lock.lock();
    try {
      most = 1;
      now = 1;
    } finally {
      lock.unlock();
    }
  }
}
