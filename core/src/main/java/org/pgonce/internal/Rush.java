package org.pgonce.internal;

import java.time.Duration;

/**
 * Whether so many wake-ups come in that it is worth it to be awake. Guarded by the lock of {@link
 * Wakefulness}.
 */
final class Rush {

  // 250 a second. It is not more, since many writers who wait for one another are as slow as that.
  private static final int ENOUGH = 25;
  private static final Duration WITHIN = Duration.ofMillis(100);

  private int heard;
  private long since = System.nanoTime();

  /**
   * A wake-up came.
   *
   * @param now by System.nanoTime()
   * @return whether it is
   */
  boolean heard(long now) {
    if (now - since > WITHIN.toNanos()) {
      since = now;
      heard = 0;
    }
    heard++;
    return heard >= ENOUGH;
  }

  /** Those until now are seen to. */
  void isSeenTo() {
    heard = 0;
  }
}
