package org.pgonce.internal.wakeup;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import org.pgonce.spi.ListenAddress;

/**
 * Asks for a sign of life before a driver gets to connect: whether a PostgreSQL server (or pooler)
 * answers at the address at all. pgjdbc-ng 0.8.9 leaks its socket when a peer accepts and then says
 * nothing, so it must not meet such a peer at every retry.
 */
final class Knock {

  /** SSLRequest: the one message that every server answers with a single byte, before any login. */
  private static final byte[] SSL_REQUEST = {0, 0, 0, 8, 4, (byte) 210, 22, 47};

  /**
   * What answered.
   *
   * @param address the first of the host's addresses where a server answers
   * @param tls whether it offers TLS
   */
  record Answer(InetAddress address, boolean tls) {}

  private Knock() {}

  /**
   * Knocks at each address of the host until one answers. Name resolution has no bound of its own:
   * call within a {@link BoundedCall}.
   *
   * @throws SQLTransientConnectionException 08001 when none does
   */
  static Answer at(ListenAddress address, Deadline deadline) throws SQLException {
    IOException failure = null;
    try {
      for (var candidate : InetAddress.getAllByName(address.host())) {
        try {
          int answer = knock(new InetSocketAddress(candidate, address.port()), deadline);
          return new Answer(candidate, answer == 'S');
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

  private static int knock(InetSocketAddress target, Deadline deadline) throws IOException {
    try (var socket = new Socket()) {
      socket.connect(target, deadline.remainingMillis());
      socket.setSoTimeout(deadline.remainingMillis());
      socket.getOutputStream().write(SSL_REQUEST);
      int answer = socket.getInputStream().read();
      if (answer < 0) {
        throw new IOException("closed by the peer before it answered");
      }
      return answer;
    }
  }
}
