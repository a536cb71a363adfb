package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;

/**
 * The longest that a driver waits for an answer of the server; then it gives up the connection. The
 * last resort against a network that falls silent and a driver that forgets a waiting thread.
 *
 * @param before the bound in milliseconds that the connection came with, 0 for none
 * @param changed whether it has another one now
 */
public record NetworkTimeout(int before, boolean changed) {

  /** Sets the bound, unless the connection has a shorter one. Sends nothing. */
  public static NetworkTimeout set(Connection connection, Duration longest) throws SQLException {
    try {
      int before = connection.getNetworkTimeout();
      int millis = Math.toIntExact(longest.toMillis());
      if (before > 0 && before <= millis) {
        return new NetworkTimeout(before, false);
      }
      connection.setNetworkTimeout(Runnable::run, millis);
      return new NetworkTimeout(before, true);
    } catch (SQLFeatureNotSupportedException e) {
      // Both drivers can; calls of another one are bounded by its own settings.
      return new NetworkTimeout(0, false);
    }
  }

  public void restore(Connection connection) throws SQLException {
    if (changed) {
      connection.setNetworkTimeout(Runnable::run, before);
    }
  }
}
