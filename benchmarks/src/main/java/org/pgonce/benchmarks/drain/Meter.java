package org.pgonce.benchmarks.drain;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Takes the time between one handler's start and a much later one's: neither the start of the
 * workers is in it, nor how they come to rest. Safe for use by several threads.
 */
public final class Meter {

  private final int first;
  private final int last;
  private final AtomicInteger started = new AtomicInteger();
  private final CountDownLatch done = new CountDownLatch(1);
  private volatile long begun;
  private volatile long ended;

  /**
   * One that has yet to be told of handlers.
   *
   * @param first the handler's start that the time begins with, counted from 1
   * @param last that it ends with
   */
  public Meter(int first, int last) {
    if (first < 1 || last <= first) {
      throw new IllegalArgumentException(first + " to " + last);
    }
    this.first = first;
    this.last = last;
  }

  /** From a twentieth of all to the last. */
  public static Meter of(int count) {
    return new Meter(Math.max(1, count / 20), count);
  }

  /** A handler starts. */
  public void started(long id) {
    var number = started.incrementAndGet();
    if (number == first) {
      begun = System.nanoTime();
    }
    if (number == last) {
      ended = System.nanoTime();
      done.countDown();
    }
  }

  public int count() {
    return started.get();
  }

  /** Waits for the last of them; false if it has not come by then. */
  public boolean await(Duration bound) throws InterruptedException {
    return done.await(bound.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** How many handlers started per second. After the last. */
  public double perSecond() {
    return (last - first) * 1e9 / (ended - begun);
  }
}
