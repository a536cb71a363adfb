package org.pgonce.benchmarks.latency;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Takes the times of a number of rows by System.nanoTime, so that no two clocks are compared. Safe
 * for use by several threads.
 */
final class Stopwatch {

  private final long firstId;
  private final AtomicLongArray committed;
  private final AtomicLongArray started;
  private final CountDownLatch outstanding;

  Stopwatch(long firstId, int rows) {
    this.firstId = firstId;
    this.committed = new AtomicLongArray(rows);
    this.started = new AtomicLongArray(rows);
    this.outstanding = new CountDownLatch(rows);
  }

  /** The commit of the row has returned. */
  void committed(long id) {
    committed.set(index(id), System.nanoTime());
  }

  /** The handler of the row begins; a second time is not counted. */
  void started(long id) {
    if (started.compareAndSet(index(id), 0, System.nanoTime())) {
      outstanding.countDown();
    }
  }

  private int index(long id) {
    return Math.toIntExact(id - firstId);
  }

  /** Waits until all handlers have begun; false if some have not by then. */
  boolean awaitAll(Duration bound) throws InterruptedException {
    return outstanding.await(bound.toMillis(), TimeUnit.MILLISECONDS);
  }

  /**
   * From commit to handler start in nanoseconds, sorted, without the first rows. Below zero where
   * the handler was quicker than the answer to the commit.
   */
  long[] latencies(int withoutFirst) {
    var nanos = new long[started.length() - withoutFirst];
    Arrays.setAll(nanos, i -> started.get(i + withoutFirst) - committed.get(i + withoutFirst));
    Arrays.sort(nanos);
    return nanos;
  }
}
