package org.pgonce.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Finds a free loopback port below the range that the system hands out to outgoing connections
 * (32768 and up on Linux).
 *
 * <p>While a server is down, a port from that range may become the local port of some client: the
 * restart then fails, or a client that connects to the dead port connects to itself.
 */
final class FreePort {

  private static final int FROM = 20_000;
  private static final int TO = 32_000;
  private static final int ATTEMPTS = 100;

  private FreePort() {}

  /** A port that was free a moment ago: whoever binds it must be ready to lose it. */
  static int find() {
    for (var attempt = 0; attempt < ATTEMPTS; attempt++) {
      var port = ThreadLocalRandom.current().nextInt(FROM, TO);
      try (var probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return probe.getLocalPort();
      } catch (IOException taken) {
        // the next attempt takes another
      }
    }
    throw new IllegalStateException(
        "No free port found between %d and %d in %d attempts".formatted(FROM, TO, ATTEMPTS));
  }
}
