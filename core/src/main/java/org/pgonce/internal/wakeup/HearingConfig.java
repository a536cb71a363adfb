package org.pgonce.internal.wakeup;

import java.time.Duration;

/**
 * The bounds of hearing. All are positive and checked.
 *
 * @param connectTimeout for connect and login together; 100 ms to 1 min
 * @param heartbeat time between two NOTIFYs to itself; 50 ms to 10 min
 * @param echoDeadline how long the echo of one may take before the connection counts as dead; 50 ms
 *     to 1 min. A dead connection is noticed within heartbeat + echoDeadline
 * @param backoffMin ceiling of the first delay before a reconnect; 10 ms to 1 min
 * @param backoffMax ceiling of any delay; backoffMin to 10 min
 */
public record HearingConfig(
    Duration connectTimeout,
    Duration heartbeat,
    Duration echoDeadline,
    Duration backoffMin,
    Duration backoffMax) {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  /** 5 s to connect, a heartbeat every 15 s, 5 s for its echo, backoff from 100 ms to 10 s. */
  public static final HearingConfig DEFAULTS =
      new HearingConfig(
          Duration.ofSeconds(5),
          Duration.ofSeconds(15),
          Duration.ofSeconds(5),
          Duration.ofMillis(100),
          Duration.ofSeconds(10));

  public HearingConfig {
    require("connectTimeout", connectTimeout, Duration.ofMillis(100), MINUTE);
    require("heartbeat", heartbeat, Duration.ofMillis(50), MINUTE.multipliedBy(10));
    require("echoDeadline", echoDeadline, Duration.ofMillis(50), MINUTE);
    require("backoffMin", backoffMin, Duration.ofMillis(10), MINUTE);
    require("backoffMax", backoffMax, backoffMin, MINUTE.multipliedBy(10));
  }

  private static void require(String name, Duration value, Duration from, Duration to) {
    if (value.compareTo(from) < 0 || value.compareTo(to) > 0) {
      throw new IllegalArgumentException(
          name
              + " is "
              + value.toMillis()
              + " ms; choose from "
              + from.toMillis()
              + " to "
              + to.toMillis()
              + " ms");
    }
  }
}
