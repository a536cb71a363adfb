package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * The sessions of a pool as they were when pgonce gave them back, so that it need not read each
 * anew: that costs the server as much as a claim. It is for pools whose users leave a session's
 * settings as they were; at the first session that is another one, it is turned off for good.
 * Thread-safe.
 */
public final class SessionMemory {

  /**
   * A session before pgonce changes anything in it.
   *
   * @param pid its server process
   * @param idle its idle_in_transaction_session_timeout, and
   * @param boundedIdle the same within the transaction of a claim
   * @param clientCheck its client_connection_check_interval within such a transaction
   * @param settings with boundedIdle
   */
  public record Known(
      int pid, String idle, String boundedIdle, String clientCheck, SessionState settings) {

    /** With these settings instead. */
    public Known with(SessionState others) {
      return new Known(pid, idle, boundedIdle, clientCheck, others);
    }
  }

  // By the driver's connection, since a pool hands out a new wrapper each time.
  private final Map<Object, Known> sessions = Collections.synchronizedMap(new WeakHashMap<>());
  private volatile boolean isOff;

  /** Null if it is not remembered. Sends nothing. */
  public @Nullable Known of(Connection connection) throws SQLException {
    if (isOff) {
      return null;
    }
    var driver = driverConnection(connection);
    return driver == null ? null : sessions.get(driver);
  }

  public void remember(Connection connection, Known session) throws SQLException {
    var driver = driverConnection(connection);
    if (driver != null && !isOff) {
      sessions.put(driver, session);
    }
  }

  /** Each session is to be read from now on. */
  public void turnOff() {
    isOff = true;
    sessions.clear();
  }

  private static @Nullable Object driverConnection(Connection connection) throws SQLException {
    return connection.isWrapperFor(PGConnection.class)
        ? connection.unwrap(PGConnection.class)
        : PgjdbcNg.driverConnection(connection);
  }
}
