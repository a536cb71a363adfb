package org.pgonce.internal.wakeup;

import com.impossibl.postgres.api.jdbc.PGNotificationListener;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.internal.wakeup.PgjdbcNgSource.Opened;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource.Ear;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One LISTEN connection of pgjdbc-ng. Holds the driver's connection strongly: one that nobody holds
 * is collected and goes deaf, while its backend still listens.
 */
final class PgjdbcNgConnection implements WakeUpConnection {

  /** How long the driver itself may take to say goodbye. */
  static final int CLOSE_MILLIS = 1_000;

  private static final Duration GOODBYE = Duration.ofMillis(200);
  private static final Logger log = LoggerFactory.getLogger(PgjdbcNgConnection.class);

  private final Opened opened;
  private final Callback callback;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Set<String> listened = ConcurrentHashMap.newKeySet();

  PgjdbcNgConnection(Opened opened, Ear ear) {
    this.opened = opened;
    this.callback = new Callback(ear);
    // No filter: the driver would read a channel name as a regular expression.
    opened.connection().addNotificationListener(callback);
  }

  @Override
  public void listen(Collection<String> channels, Duration deadline) throws SQLException {
    execute(channels.stream().map(ListenSql::listen).toList(), deadline);
    listened.addAll(channels);
  }

  @Override
  public long notify(String channel, String payload, Duration deadline) throws SQLException {
    return execute(List.of(ListenSql.notify(channel, payload)), deadline);
  }

  @Override
  public void exemptFromIdleTimeout(Duration deadline) throws SQLException {
    execute(List.of(ListenSql.NO_IDLE_TIMEOUT), deadline);
  }

  long execute(List<String> statements, Duration deadline) throws SQLException {
    return BoundedCall.run(
        "a statement on the LISTEN connection",
        () -> {
          try (var statement = opened.connection().createStatement()) {
            statement.setEscapeProcessing(false);
            // The executor is never used by the driver.
            opened.connection().setNetworkTimeout(Runnable::run, (int) deadline.toMillis());
            long begun = System.nanoTime();
            for (var sql : statements) {
              statement.execute(sql);
            }
            return begun;
          }
        },
        deadline,
        "08006",
        late -> {});
  }

  @Override
  public int backendPid() {
    return opened.backendPid();
  }

  @Override
  public boolean pooled() {
    return opened.backendPid() != opened.greetingPid();
  }

  // A pooler lends the backend to others next, and one that LISTENs slows all writers down.
  private void unlistenIfPooled() {
    if (!pooled() || listened.isEmpty()) {
      return;
    }
    Courtesy.say(() -> execute(listened.stream().map(ListenSql::unlisten).toList(), GOODBYE), log);
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    callback.open = false;
    unlistenIfPooled();
    var done = new CountDownLatch(1);
    DaemonThread.start(
        "pgonce-close",
        () -> {
          discard(opened);
          done.countDown();
        });
    try {
      if (!done.await(CLOSE_MILLIS, TimeUnit.MILLISECONDS)) {
        log.debug("LISTEN connection (backend {}) closes in the background", backendPid());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends a connection that came too late. */
  static void discard(Opened late) {
    try {
      // The driver waits this long for its goodbye to be sent, and for ever with 0.
      late.connection().setNetworkTimeout(Runnable::run, CLOSE_MILLIS);
    } catch (SQLException e) {
      log.trace("already closed", e);
    }
    discard(late.connection());
  }

  static void discard(Connection connection) {
    try {
      connection.close();
    } catch (SQLException | RuntimeException e) {
      // It is being thrown away: there is nothing left to do with it.
      log.debug("pgjdbc-ng could not close a LISTEN connection in order: {}", e.toString());
    }
  }

  /**
   * Runs on an I/O thread that all connections of the driver share: a query or a wait here would
   * stall or deadlock them, so it only hands on.
   */
  private static final class Callback implements PGNotificationListener {
    private final Ear ear;
    private volatile boolean open = true;

    Callback(Ear ear) {
      this.ear = ear;
    }

    @Override
    public void notification(int processId, String channelName, String payload) {
      if (open) {
        ear.heard(channelName, payload == null ? "" : payload);
      }
    }

    @Override
    public void closed() {
      if (open) {
        ear.lost("the connection was closed by the server or the network");
      }
    }
  }
}
