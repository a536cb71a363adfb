package org.pgonce.pgjdbcng;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
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
    IOException failure = null;
    try {
      for (var candidate : InetAddress.getAllByName(address.host())) {
        try {
          int answer = ask(new InetSocketAddress(candidate, address.port()), end);
          return new ServerProbe(candidate, answer == 'S');
        } catch (IOException e) {
          failure = e;
        }
      }
    } catch (UnknownHostException e) {
      throw new SQLTransientConnectionException(
          "the host name " + address.host() + " is unknown", "08001", e);
    }
    throw new SQLTransientConnectionException(
        "nothing answers at "
            + address.host()
            + ":"
            + address.port()
            + (failure == null ? "" : " (" + failure.getMessage() + ")"),
        "08001",
        failure);
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
