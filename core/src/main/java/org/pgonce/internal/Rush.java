package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Whether so many wake-ups come in that it is worth it to be awake. One of all is enough: it is the
 * first, see {@link Standby}. Others are if it goes on for longer than he needs, as he may be lost,
 * and each of them after another time. Fewer may be all that come as writers wait for one another,
 * each for the disk in turn: the first asks the server then, or who stands in for it. Guarded by
 * the lock of {@link Wakefulness}.
 */
final class Rush {

  // 250 a second, and 30.
  private static final int ENOUGH = 25;
  private static final int SOME = 3;
  private static final Duration WITHIN = Duration.ofMillis(100);

  // A process that gets no processor for a while hears much at once, which is no rush.
  private static final Duration LEAST_PATIENCE = Duration.ofSeconds(1);
  private static final Duration MOST_PATIENCE = Duration.ofSeconds(3);

  /** Whether it is; in this order. */
  enum Worth {
    NOT,
    /** If writers wait until they may commit with a NOTIFY. */
    IF_WRITERS_WAIT,
    SURELY
  }

  private int heard;
  private long windowSince = System.nanoTime();
  private long rushSince = windowSince;
  private long patience = patience();

  /**
   * A wake-up came.
   *
   * @param now by System.nanoTime()
   * @param isFirst whether it is this process that is to be awake
   * @param answersAtOnce whether it is the first, or stands in for it
   */
  Worth heard(long now, boolean isFirst, boolean answersAtOnce) {
    var time = now - windowSince;
    if (time > WITHIN.toNanos()) {
      if (heard < ENOUGH || time > 2 * WITHIN.toNanos()) {
        rushSince = now;
        patience = patience();
      }
      windowSince = now;
      heard = 0;
    }
    heard++;
    if (heard >= ENOUGH && (isFirst || now - rushSince >= patience)) {
      return Worth.SURELY;
    }
    return heard >= SOME && answersAtOnce ? Worth.IF_WRITERS_WAIT : Worth.NOT;
  }

  /** Those until now are seen to. */
  void isSeenTo() {
    heard = 0;
    rushSince = System.nanoTime();
  }

  private static long patience() {
    return ThreadLocalRandom.current().nextLong(LEAST_PATIENCE.toNanos(), MOST_PATIENCE.toNanos());
  }
}
