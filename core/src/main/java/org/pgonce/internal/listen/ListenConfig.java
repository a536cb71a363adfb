package org.pgonce.internal.listen;

import java.time.Duration;

/**
 * The bounds of listening.
 *
 * @param connectTimeout for connect and login together; 100 ms to 1 min
 * @param heartbeat time between two NOTIFYs to itself; 50 ms to 10 min
 * @param echoTimeout how long the echo of one may take before the connection counts as dead; 50 ms
 *     to 1 min. A dead connection is noticed within heartbeat + echoTimeout
 */
public record ListenConfig(Duration connectTimeout, Duration heartbeat, Duration echoTimeout) {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  /** 5 s to connect, a heartbeat every 15 s, 5 s for its echo. */
  public static final ListenConfig DEFAULTS =
      new ListenConfig(Duration.ofSeconds(5), Duration.ofSeconds(15), Duration.ofSeconds(5));

  public ListenConfig {
    require("connectTimeout", connectTimeout, 100, MINUTE);
    require("heartbeat", heartbeat, 50, MINUTE.multipliedBy(10));
    require("echoTimeout", echoTimeout, 50, MINUTE);
  }

  private static void require(String name, Duration value, long fromMillis, Duration to) {
    if (value.toMillis() < fromMillis || value.compareTo(to) > 0) {
      throw new IllegalArgumentException(
          "%s is %d ms; choose from %d to %d ms"
              .formatted(name, value.toMillis(), fromMillis, to.toMillis()));
    }
  }
}
