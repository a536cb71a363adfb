package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;

/**
 * Whether the workers of this process do not get to what there is, so that others are to help who
 * leave it to them: they are all in handlers that take long, or always have a next row.
 * Thread-safe, by the drain's lock.
 */
final class Overload {

  // Longer than most claims and short handlers; of several processes the quickest one asks.
  private static final Duration LEAST = Duration.ofMillis(5);
  private static final Duration MOST = Duration.ofMillis(10);

  private final Threads threads;
  private final Lock lock;
  private final BooleanSupplier isFree;
  private final Runnable ask;
  private boolean watches;
  private long begun;
  private long begunBefore;
  private boolean left;

  /**
   * @param isFree whether a worker is free, or nobody could help
   * @param ask called with the lock held; must return at once
   */
  Overload(Threads threads, Lock lock, BooleanSupplier isFree, Runnable ask) {
    this.threads = threads;
    this.lock = lock;
    this.isFree = isFree;
    this.ask = ask;
  }

  /** A claim begins. Called with the lock held, as the next two. */
  void begins() {
    begun++;
  }

  /** A worker has found nothing left to do. */
  void left() {
    left = true;
  }

  /** Asked every now and then while something is claimed. */
  void lookedOut() {
    if (!left && !isFree.getAsBoolean()) {
      ask.run();
    }
    left = false;
  }

  /** There may be something for which no worker is left. */
  void mayBe() {
    lock.lock();
    try {
      if (!watches && !isFree.getAsBoolean()) {
        watches = true;
        begunBefore = begun;
        var nanos = ThreadLocalRandom.current().nextLong(LEAST.toNanos(), MOST.toNanos());
        threads.tickLater(Duration.ofNanos(nanos), this::watched);
      }
    } finally {
      lock.unlock();
    }
  }

  private void watched() {
    lock.lock();
    try {
      watches = false;
      if (begun != begunBefore) {
        mayBe();
      } else if (!isFree.getAsBoolean()) {
        ask.run();
      }
    } finally {
      lock.unlock();
    }
  }
}
