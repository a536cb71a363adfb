package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A source's connection with a bound on each call: a driver's call may never return. */
final class BoundedConnection implements AutoCloseable {

  private static final int AT_ONCE = 50;
  private static final Duration UNLISTEN_BOUND = Duration.ofMillis(500);
  private static final long CLOSE_BOUND_MILLIS = 1_000;
  private static final Logger LOG = LoggerFactory.getLogger(BoundedConnection.class);

  // Referenced as long as it listens: pgjdbc-ng collects a connection that nobody references.
  private final WakeUpConnection connection;

  private BoundedConnection(WakeUpConnection connection) {
    this.connection = connection;
  }

  /** Connects. A connection that comes up after the timeout is closed in the background. */
  static BoundedConnection open(
      WakeUpSource source, ListenAddress address, WakeUpSource.Callback callback, Duration timeout)
      throws SQLException {
    return new BoundedConnection(
        run(
            "connecting to " + address,
            () -> source.open(address, callback, timeout),
            timeout,
            "08001",
            WakeUpConnection::close));
  }

  /**
   * When it returns, each NOTIFY on the channels that commits from now on arrives.
   *
   * @param timeout for each fifty of them: a driver sends one after the other
   */
  void listen(Collection<String> channels, Duration timeout) throws SQLException {
    var statements = channels.stream().map(channel -> "LISTEN " + identifier(channel)).toList();
    for (var from = 0; from < statements.size(); from += AT_ONCE) {
      execute(statements.subList(from, Math.min(from + AT_ONCE, statements.size())), timeout);
    }
  }

  void notify(String channel, String payload, Duration timeout) throws SQLException {
    // The E form does not depend on standard_conforming_strings.
    var text = payload.replace("\\", "\\\\").replace("'", "''");
    execute(List.of("NOTIFY " + identifier(channel) + ", E'" + text + "'"), timeout);
  }

  void execute(List<String> statements, Duration timeout) throws SQLException {
    run(
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

  /**
   * Returns within a second, though the peer is frozen or this thread interrupted. Where the
   * machine has no thread to give, this one does it: what nobody closes goes on to hear.
   */
  @Override
  public void close() {
    var interrupted = Thread.interrupted();
    try {
      var closing = Threads.daemon("pgonce-close", this::unlistenAndClose);
      closing.start();
      closing.join(CLOSE_BOUND_MILLIS);
    } catch (OutOfMemoryError noThread) {
      unlistenAndClose();
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void unlistenAndClose() {
    // A pooler lends the backend to others next, and one that LISTENs slows all writers down.
    try (connection) {
      if (connection.pooled()) {
        execute(List.of("UNLISTEN *"), UNLISTEN_BOUND);
      }
    } catch (SQLException | RuntimeException e) {
      LOG.debug("could not UNLISTEN through the pooler: {}", e.toString());
    }
  }

  private static String identifier(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  /**
   * Runs a call on a daemon thread and waits for it.
   *
   * @param what the call's name in messages
   * @param sqlState of a timeout, and of a failure for which the driver has none
   * @param late closes a result that comes after the timeout or an interrupt
   * @throws SQLException if the call fails, the timeout passes, the machine has no thread to give,
   *     or this thread is interrupted; its interrupt flag is then set again
   */
  static <T> T run(
      String what, Callable<T> call, Duration timeout, String sqlState, Consumer<T> late)
      throws SQLException {
    var result = new CompletableFuture<T>();
    try {
      Threads.daemon(
              "pgonce-call",
              () -> {
                try {
                  result.complete(call.call());
                } catch (Throwable failure) {
                  result.completeExceptionally(failure);
                }
              })
          .start();
    } catch (OutOfMemoryError noThread) {
      throw new SQLException(what + " failed: " + noThread.getMessage(), sqlState, noThread);
    }
    try {
      return result.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      // Drivers also throw runtime exceptions, errors, and SQLExceptions without a state.
      if (e.getCause() instanceof SQLException failure && failure.getSQLState() != null) {
        throw failure;
      }
      throw new SQLException(what + " failed: " + e.getCause(), sqlState, e.getCause());
    } catch (TimeoutException e) {
      var unused = result.thenAccept(late);
      throw new SQLException(what + " took longer than " + timeout.toMillis() + " ms", sqlState, e);
    } catch (InterruptedException e) {
      var unused = result.thenAccept(late);
      Thread.currentThread().interrupt();
      throw new SQLException(what + " was interrupted", sqlState, e);
    }
  }
}
