package org.pgonce.pgjdbcng;

import com.impossibl.postgres.api.jdbc.PGNotificationListener;
import com.impossibl.postgres.jdbc.PGDirectConnection;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One LISTEN connection of pgjdbc-ng. */
final class PgjdbcNgConnection implements WakeUpConnection {

  private static final int CLOSE_MILLIS = 1_000;
  private static final Logger log = LoggerFactory.getLogger(PgjdbcNgConnection.class);

  private final PGDirectConnection connection;
  private final int backendPid;
  private final int greetingPid;
  private final Receiver receiver;

  PgjdbcNgConnection(
      PGDirectConnection connection, int backendPid, WakeUpSource.Callback callback) {
    this.connection = connection;
    this.backendPid = backendPid;
    this.greetingPid = connection.getKeyData().getProcessId();
    this.receiver = new Receiver(callback);
    // No filter: the driver would read a channel name as a regular expression.
    connection.addNotificationListener(receiver);
  }

  @Override
  public void execute(List<String> statements, Duration timeout) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.setEscapeProcessing(false);
      // The executor is never used by the driver.
      connection.setNetworkTimeout(Runnable::run, (int) timeout.toMillis());
      for (var sql : statements) {
        statement.execute(sql);
      }
    }
  }

  @Override
  public int backendPid() {
    return backendPid;
  }

  @Override
  public boolean pooled() {
    return backendPid != greetingPid;
  }

  @Override
  public void close() {
    receiver.open = false;
    try {
      // How long the driver waits until its Terminate message is sent; with 0, for ever.
      connection.setNetworkTimeout(Runnable::run, CLOSE_MILLIS);
    } catch (SQLException e) {
      log.trace("already closed", e);
    }
    discard(connection);
  }

  static void discard(Connection connection) {
    try {
      connection.close();
    } catch (SQLException | RuntimeException e) {
      log.debug("pgjdbc-ng could not close a LISTEN connection in order: {}", e.toString());
    }
  }

  /**
   * Called on an I/O thread that all connections of the driver share: a query or a wait here would
   * stall or deadlock them.
   */
  private static final class Receiver implements PGNotificationListener {
    private final WakeUpSource.Callback callback;
    private volatile boolean open = true;

    Receiver(WakeUpSource.Callback callback) {
      this.callback = callback;
    }

    @Override
    public void notification(int processId, String channelName, String payload) {
      if (open) {
        callback.notified(channelName, payload == null ? "" : payload);
      }
    }

    @Override
    public void closed() {
      if (open) {
        callback.lost("the connection was closed by the server or the network");
      }
    }
  }
}
