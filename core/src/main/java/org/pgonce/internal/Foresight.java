package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Rows were stored that are due later: a scan learns how long that is, by the database's clock.
 * However many announce themselves, it looks every 50 ms at most, and once after the last of them.
 * Safe for use by several threads.
 */
final class Foresight {

  private static final long PAUSE_NANOS = Duration.ofMillis(50).toNanos();

  private final Consumer<Duration> scanWithin;
  // By System.nanoTime(): the last look, or the next where it is still to come.
  private final AtomicLong lookAt = new AtomicLong(System.nanoTime() - PAUSE_NANOS);

  Foresight(Consumer<Duration> scanWithin) {
    this.scanWithin = scanWithin;
  }

  /** Sees to it that a scan begins after this call. Returns at once. */
  void look() {
    var now = System.nanoTime();
    var at =
        lookAt.updateAndGet(
            last -> {
              if (last - now > 0) {
                return last;
              }
              var earliest = last + PAUSE_NANOS;
              return earliest - now > 0 ? earliest : now;
            });
    scanWithin.accept(Duration.ofNanos(Math.max(0, at - now)));
  }
}
