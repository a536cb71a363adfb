package org.pgonce.internal.wakeup;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.pgonce.internal.wakeup.Deafness.Kind;

/** How long to wait before the next connect: exponential, capped, with full jitter. */
final class ConnectBackoff {

  // An attempt that nobody answers costs nobody anything, and the server may be back any moment.
  private static final Duration UNREACHABLE_MAX = Duration.ofSeconds(1);
  // Somebody has to give another address; until then each attempt leaves a LISTEN on a server
  // connection that is others' as well.
  private static final Duration POOLER_MAX = Duration.ofMinutes(1);

  private final Duration min;
  private final Duration max;
  private int failures;

  ConnectBackoff(HearingConfig config) {
    this.min = config.backoffMin();
    this.max = config.backoffMax();
  }

  Duration next(Kind kind) {
    return jittered(ceiling(kind));
  }

  Duration ceiling(Kind kind) {
    // 2^20 times the shortest min is over the longest max.
    var grown = min.multipliedBy(1L << Math.min(failures++, 20));
    return switch (kind) {
      case UNREACHABLE, LOST -> shorter(grown, shorter(max, UNREACHABLE_MAX));
      case POOLER -> shorter(grown, max.compareTo(POOLER_MAX) > 0 ? max : POOLER_MAX);
      default -> shorter(grown, max);
    };
  }

  void reset() {
    failures = 0;
  }

  private static Duration jittered(Duration ceiling) {
    return Duration.ofNanos(ThreadLocalRandom.current().nextLong(1, ceiling.toNanos() + 1));
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) < 0 ? a : b;
  }
}
