package org.pgonce.internal.listen;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One LISTEN connection of pgjdbc and the thread that owns it. The driver keeps its lock while it
 * waits for a NOTIFY, so the thread waits in slices and runs the statements itself between two.
 * Right after a statement slices are short, because a statement seldom comes alone; then they grow.
 */
final class PgjdbcConnection implements WakeUpConnection {

  private static final int FIRST_SLICE_MILLIS = 4;
  // Bounds how long a heartbeat waits for its turn; a NOTIFY ends the slice at once.
  private static final int LONGEST_SLICE_MILLIS = 256;
  private static final Duration POLITE = Duration.ofMillis(500);
  private static final Logger log = LoggerFactory.getLogger(PgjdbcConnection.class);

  private final Connection connection;
  private final PGConnection driver;
  private final int backendPid;
  private final WakeUpSource.Callback callback;
  private final LinkedBlockingQueue<FutureTask<?>> statements = new LinkedBlockingQueue<>();
  private volatile boolean open = true;

  PgjdbcConnection(Connection connection, int backendPid, WakeUpSource.Callback callback)
      throws SQLException {
    this.connection = connection;
    this.driver = connection.unwrap(PGConnection.class);
    this.backendPid = backendPid;
    this.callback = callback;
    DaemonThread.start("pgonce-listen-" + backendPid, this::waitAndRun);
  }

  private void waitAndRun() {
    int slice = FIRST_SLICE_MILLIS;
    try {
      while (open) {
        var next = statements.poll();
        if (next != null) {
          next.run();
          slice = FIRST_SLICE_MILLIS;
        } else {
          await(slice);
          slice = Math.min(2 * slice, LONGEST_SLICE_MILLIS);
        }
      }
    } catch (SQLException | RuntimeException e) {
      if (open) {
        callback.lost("the connection broke: " + e.getMessage());
      }
    } finally {
      open = false;
      statements.forEach(waiting -> waiting.cancel(false));
    }
  }

  private void await(int millis) throws SQLException {
    var notifications = driver.getNotifications(millis);
    if (notifications != null) {
      for (var each : notifications) {
        var payload = each.getParameter();
        callback.notified(each.getName(), payload == null ? "" : payload);
      }
    }
  }

  @Override
  public void execute(List<String> sql, Duration timeout) throws SQLException {
    var task =
        new FutureTask<@Nullable Void>(
            () -> {
              run(sql, timeout);
              return null;
            });
    statements.add(task);
    if (!open) {
      task.cancel(false); // the thread may have gone before it could see the task
    }
    try {
      task.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SQLException("a statement on the LISTEN connection was interrupted", "08006", e);
    } catch (CancellationException e) {
      throw new SQLException("the LISTEN connection is closed", "08003", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof SQLException refused) {
        throw refused;
      }
      throw new SQLException("a statement on the LISTEN connection failed", "08006", e.getCause());
    }
  }

  private void run(List<String> sql, Duration timeout) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.setEscapeProcessing(false);
      // The executor is never used by the driver; the timeout is a read timeout of the socket.
      connection.setNetworkTimeout(Runnable::run, (int) timeout.toMillis());
      for (var each : sql) {
        statement.execute(each);
      }
    }
    connection.setNetworkTimeout(Runnable::run, 0);
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
      BoundedCall.run(
          "closing",
          () -> {
            connection.close();
            return true;
          },
          POLITE,
          "08006",
          late -> {});
    } catch (SQLException e) {
      abort(e);
    }
  }

  /** Closes the socket whatever state it is in. */
  private void abort(SQLException why) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException | RuntimeException e) {
      // It is being thrown away: there is nothing left to do with it.
      e.addSuppressed(why);
      log.debug("pgjdbc could not abort a LISTEN connection", e);
    }
  }
}
