package org.pgonce.internal.listen;

import java.time.Duration;

/**
 * The bounds of listening.
 *
 * @param connectTimeout for connect and login together
 * @param heartbeat time between two NOTIFYs to itself
 * @param echoTimeout how long the echo of one may take before the connection counts as dead. A dead
 *     connection is noticed within heartbeat + echoTimeout
 */
public record ListenConfig(Duration connectTimeout, Duration heartbeat, Duration echoTimeout) {

  /** 5 s to connect, a heartbeat every 15 s, 5 s for its echo. */
  public static final ListenConfig DEFAULTS =
      new ListenConfig(Duration.ofSeconds(5), Duration.ofSeconds(15), Duration.ofSeconds(5));
}
