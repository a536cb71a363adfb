package org.pgonce.pgjdbcng;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.pgonce.spi.ListenAddress;

/**
 * Checks that a PostgreSQL server or pooler answers at the address before the driver connects:
 * pgjdbc-ng 0.8.9 leaks its socket when a peer accepts and then says nothing.
 *
 * @param address the first of the host's addresses where a server answers
 * @param tls whether it offers TLS
 */
record ServerProbe(InetAddress address, boolean tls) {

  /** SSLRequest: every server answers it with one byte, before any login. */
  private static final byte[] SSL_REQUEST = {0, 0, 0, 8, 4, (byte) 210, 22, 47};

  /**
   * Asks each address of the host until one answers. Name resolution has no bound of its own.
   *
   * @throws SQLTransientConnectionException 08001 when none does
   */
  static ServerProbe of(ListenAddress address, Duration timeout) throws SQLException {
    var end = System.nanoTime() + timeout.toNanos();
    InetAddress[] found;
    try {
      found = InetAddress.getAllByName(address.host());
    } catch (UnknownHostException e) {
      throw new SQLTransientConnectionException(
          "the host name " + address.host() + " is unknown", "08001", e);
    }
    var candidates =
        Arrays.stream(found).map(one -> new InetSocketAddress(one, address.port())).toList();
    try {
      return ofFirstThatAnswers(candidates, end);
    } catch (IOException e) {
      throw new SQLTransientConnectionException(
          "nothing answers at %s:%d (%s)".formatted(address.host(), address.port(), e.getMessage()),
          "08001",
          e);
    }
  }

  /**
   * Each gets an equal share of the time left: one that accepts and says nothing leaves the others
   * theirs.
   *
   * @param candidates one at least
   * @param end by System.nanoTime()
   * @throws IOException the last one's, when none does
   */
  static ServerProbe ofFirstThatAnswers(List<InetSocketAddress> candidates, long end)
      throws IOException {
    for (var i = 0; ; i++) {
      var candidate = candidates.get(i);
      var now = System.nanoTime();
      try {
        var answer = ask(candidate, now + (end - now) / (candidates.size() - i));
        return new ServerProbe(candidate.getAddress(), answer == 'S');
      } catch (IOException e) {
        if (i == candidates.size() - 1) {
          throw e;
        }
      }
    }
  }

  private static int ask(InetSocketAddress target, long end) throws IOException {
    try (var socket = new Socket()) {
      socket.connect(target, millisTo(end));
      socket.setSoTimeout(millisTo(end));
      socket.getOutputStream().write(SSL_REQUEST);
      int answer = socket.getInputStream().read();
      if (answer < 0) {
        throw new IOException("closed by the peer before it answered");
      }
      return answer;
    }
  }

  /** At least 1: to a socket 0 means for ever. */
  private static int millisTo(long end) {
    return (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()));
  }
}
