package org.pgonce.internal;

import java.time.Duration;
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

  private volatile @Nullable Long metAt;

  /** One was put back here. */
  void give() {
    metAt = System.nanoTime();
  }

  /** How long this listener waits when something is due. */
  Duration length() {
    var last = metAt;
    return last != null && System.nanoTime() - last < MEMORY.toNanos() ? LENGTH : Duration.ZERO;
  }
}
