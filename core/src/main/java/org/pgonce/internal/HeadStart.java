package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * What is put back for listeners that know a later version of the channel's definition is due for
 * all of them at the same moment, and whoever is a little faster would have it again and again. So
 * a listener that has met such notifications lately is later than the others at what is due.
 */
final class HeadStart {

  /** Enough for a scan and a claim; what it costs its own retries meanwhile. */
  static final Duration LENGTH = Duration.ofMillis(500);

  // They come back within a minute.
  private static final Duration MEMORY = Duration.ofMinutes(2);

  private final Threads threads;
  private volatile @Nullable Long metAt;
  // One delay at a time, however often it is told that rows are due.
  private final AtomicBoolean waits = new AtomicBoolean();

  HeadStart(Threads threads) {
    this.threads = threads;
  }

  /** One was put back here. */
  void give() {
    metAt = System.nanoTime();
  }

  /**
   * Something is due.
   *
   * @param othersHaveBegun what is called, on the timer's thread, if others are to begin with it
   * @return whether they are
   */
  boolean isGiven(Runnable othersHaveBegun) {
    var last = metAt;
    if (last == null || System.nanoTime() - last >= MEMORY.toNanos()) {
      return false;
    }
    if (waits.compareAndSet(false, true)) {
      threads.tickLater(
          LENGTH,
          () -> {
            waits.set(false);
            othersHaveBegun.run();
          });
    }
    return true;
  }
}
