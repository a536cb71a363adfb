package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/**
 * The longest that a driver waits for an answer of the server before it gives up the connection.
 *
 * @param before the bound in milliseconds that the connection came with, 0 for none
 * @param changed whether it has another one now
 */
public record NetworkTimeout(int before, boolean changed) {

  /** Sets the bound, unless the connection has a shorter one. Sends nothing. */
  public static NetworkTimeout set(Connection connection, Duration longest) throws SQLException {
    var before = connection.getNetworkTimeout();
    var millis = Math.toIntExact(longest.toMillis());
    var changed = before == 0 || before > millis;
    if (changed) {
      connection.setNetworkTimeout(Runnable::run, millis);
    }
    return new NetworkTimeout(before, changed);
  }

  public void restore(Connection connection) throws SQLException {
    if (changed) {
      connection.setNetworkTimeout(Runnable::run, before);
    }
  }
}
