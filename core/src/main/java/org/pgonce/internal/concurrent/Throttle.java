package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Says of something that repeats when it may be said again. Thread-safe. */
public final class Throttle {

  private final long between;
  private final AtomicLong notBefore = new AtomicLong(System.nanoTime());

  public Throttle(Duration between) {
    this.between = between.toNanos();
  }

  /** Whether it may be said now; if so, not again for that time. */
  public boolean permits() {
    var now = System.nanoTime();
    var before = notBefore.get();
    return now - before >= 0 && notBefore.compareAndSet(before, now + between);
  }
}
