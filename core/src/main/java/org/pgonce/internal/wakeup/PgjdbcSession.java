package org.pgonce.internal.wakeup;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.spi.WakeUpSource.Ear;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pgjdbc connection as the waiting thread uses it. The driver's lock is held while it waits, so
 * only that thread may call {@link #execute} and {@link #await}; closing is for anyone.
 */
record PgjdbcSession(Connection connection, PGConnection driver, int backendPid) {

  private static final Logger log = LoggerFactory.getLogger(PgjdbcSession.class);

  void execute(List<String> statements, Deadline deadline) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.setEscapeProcessing(false);
      for (var sql : statements) {
        // The executor is never used by the driver; the timeout is a read timeout of the socket.
        connection.setNetworkTimeout(Runnable::run, deadline.remainingMillis());
        statement.execute(sql);
      }
    }
    connection.setNetworkTimeout(Runnable::run, 0);
  }

  /** Waits for a NOTIFY up to the given milliseconds, and hands on what came. */
  void await(int millis, Ear ear) throws SQLException {
    var notifications = driver.getNotifications(millis);
    if (notifications != null) {
      for (var each : notifications) {
        var payload = each.getParameter();
        ear.heard(each.getName(), payload == null ? "" : payload);
      }
    }
  }

  boolean pooled() {
    return driver.getBackendPID() != backendPid;
  }

  void discard() {
    discard(connection);
  }

  /** Closes the socket whatever state it is in. */
  void abort() {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException | RuntimeException e) {
      // It is being thrown away: there is nothing left to do with it.
      log.debug("pgjdbc could not abort a LISTEN connection: {}", e.toString());
    }
  }

  static void discard(Connection connection) {
    try {
      connection.close();
    } catch (SQLException | RuntimeException e) {
      // It is being thrown away: there is nothing left to do with it.
      log.debug("pgjdbc could not close a LISTEN connection in order: {}", e.toString());
    }
  }
}
