package org.pgonce.internal.listen;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One LISTEN connection of pgjdbc and a thread that waits on it. The driver keeps its lock while it
 * waits for a NOTIFY, so the thread waits in slices, and statements run between two of them. Slices
 * are short after a statement, because a statement seldom comes alone; then they grow.
 */
final class PgjdbcConnection implements WakeUpConnection {

  private static final int FIRST_SLICE_MILLIS = 4;
  // Bounds how long a heartbeat waits for its turn; a NOTIFY ends the slice at once.
  private static final int LONGEST_SLICE_MILLIS = 256;
  private static final long CLOSE_MILLIS = 500;
  private static final Logger log = LoggerFactory.getLogger(PgjdbcConnection.class);

  private final Connection connection;
  private final PGConnection driver;
  private final int backendPid;
  private final WakeUpSource.Callback callback;
  private final ReentrantLock turn = new ReentrantLock(true); // fair, or no statement gets its turn
  private final Thread receiver;
  private int slice = FIRST_SLICE_MILLIS;
  private volatile boolean open = true;

  PgjdbcConnection(Connection connection, int backendPid, WakeUpSource.Callback callback)
      throws SQLException {
    this.connection = connection;
    this.driver = connection.unwrap(PGConnection.class);
    this.backendPid = backendPid;
    this.callback = callback;
    this.receiver = Threads.daemon("pgonce-listen-" + backendPid, this::receive);
    receiver.start();
  }

  private void receive() {
    try (connection) {
      while (open) {
        for (var each : next()) {
          var payload = each.getParameter();
          callback.notified(each.getName(), payload == null ? "" : payload);
        }
      }
    } catch (SQLException | RuntimeException e) {
      if (open) {
        callback.lost("the connection broke: " + e.getMessage());
      }
    }
  }

  private PGNotification[] next() throws SQLException {
    turn.lock();
    try {
      var notifications = driver.getNotifications(slice);
      slice = Math.min(2 * slice, LONGEST_SLICE_MILLIS);
      return notifications == null ? new PGNotification[0] : notifications;
    } finally {
      turn.unlock();
    }
  }

  @Override
  public void execute(List<String> statements, Duration timeout) throws SQLException {
    turn.lock();
    try (var statement = connection.createStatement()) {
      statement.setEscapeProcessing(false);
      for (var sql : statements) {
        statement.execute(sql);
      }
      slice = FIRST_SLICE_MILLIS;
    } finally {
      turn.unlock();
    }
  }

  @Override
  public int backendPid() {
    return backendPid;
  }

  @Override
  public boolean pooled() {
    return driver.getBackendPID() != backendPid;
  }

  @Override
  public void close() {
    open = false;
    try {
      receiver.join(CLOSE_MILLIS); // it closes the connection in order, unless the peer is frozen
      connection.abort(Runnable::run);
    } catch (SQLException | RuntimeException e) {
      log.debug("pgjdbc could not abort a LISTEN connection", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
