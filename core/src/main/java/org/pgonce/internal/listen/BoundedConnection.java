package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A source's connection, each of whose calls ends in time whatever the driver does. Holds it
 * strongly: a connection of pgjdbc-ng that nobody holds is collected, and its backend still
 * listens.
 */
final class BoundedConnection implements AutoCloseable {

  private static final Duration UNLISTEN_BOUND = Duration.ofMillis(500);
  private static final Duration CLOSE_BOUND = Duration.ofSeconds(1);
  private static final Logger log = LoggerFactory.getLogger(NotificationListener.class);

  private final WakeUpConnection connection;
  private final Set<String> listened = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean closing = new AtomicBoolean();
  private final CountDownLatch closed = new CountDownLatch(1);

  private BoundedConnection(WakeUpConnection connection) {
    this.connection = connection;
  }

  /**
   * Connects. A connection that comes up later than the timeout is closed in the background.
   *
   * @throws SQLException also if this thread is interrupted, its interrupt flag is then set again
   */
  static BoundedConnection open(
      WakeUpSource source, ListenAddress address, WakeUpSource.Callback callback, Duration timeout)
      throws SQLException {
    return new BoundedConnection(
        BoundedCall.run(
            "connecting to " + address,
            () -> source.open(address, callback, timeout),
            timeout,
            "08001",
            WakeUpConnection::close));
  }

  /** When it returns, each NOTIFY on the channels that commits from now on arrives. */
  void listen(Collection<String> channels, Duration timeout) throws SQLException {
    execute(channels.stream().map(ListenSql::listen).toList(), timeout);
    listened.addAll(channels);
  }

  void notify(String channel, String payload, Duration timeout) throws SQLException {
    execute(List.of(ListenSql.notify(channel, payload)), timeout);
  }

  void execute(List<String> statements, Duration timeout) throws SQLException {
    if (closing.get()) {
      throw new SQLException("the LISTEN connection is closed", "08003");
    }
    executeAnyway(statements, timeout);
  }

  private void executeAnyway(List<String> statements, Duration timeout) throws SQLException {
    BoundedCall.run(
        "a statement on the LISTEN connection",
        () -> {
          connection.execute(statements, timeout);
          return true;
        },
        timeout,
        "08006",
        late -> {});
  }

  int backendPid() {
    return connection.backendPid();
  }

  boolean pooled() {
    return connection.pooled();
  }

  /** Returns within about a second even if the peer is frozen; idempotent. */
  @Override
  public void close() {
    if (closing.compareAndSet(false, true)) {
      // On a thread that nobody interrupts: at the end, the closing one often is.
      DaemonThread.start("pgonce-close", this::unlistenAndClose);
    }
    var interrupted = Thread.interrupted();
    var end = System.nanoTime() + CLOSE_BOUND.toNanos();
    while (true) {
      try {
        closed.await(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void unlistenAndClose() {
    try {
      // A pooler lends the backend to others next, and one that LISTENs slows all writers down.
      if (connection.pooled() && !listened.isEmpty()) {
        executeAnyway(listened.stream().map(ListenSql::unlisten).toList(), UNLISTEN_BOUND);
      }
    } catch (SQLException e) {
      log.debug("could not UNLISTEN through the pooler: {}", e.toString());
    } finally {
      connection.close();
      closed.countDown();
    }
  }
}
