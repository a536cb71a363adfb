package org.pgonce.internal.gate;

import java.time.Duration;

/**
 * How many wake-ups come in. Many: 250 a second, which is worth an open gate. Some: 30 a second;
 * fewer may be all that come where writers wait for one another, each for the disk in turn.
 * Thread-safe.
 */
final class WakeUpRate {

  private static final int MANY = 25;
  private static final int SOME = 3;
  private static final long WINDOW_NANOS = Duration.ofMillis(100).toNanos();

  private long windowSince = System.nanoTime();
  private int heard;

  /** A wake-up came, at this System.nanoTime(). */
  synchronized void heard(long now) {
    if (now - windowSince > WINDOW_NANOS) {
      windowSince = now;
      heard = 0;
    }
    heard++;
  }

  synchronized boolean isMany() {
    return heard >= MANY;
  }

  synchronized boolean isSome() {
    return heard >= SOME;
  }

  synchronized void reset() {
    heard = 0;
  }
}
