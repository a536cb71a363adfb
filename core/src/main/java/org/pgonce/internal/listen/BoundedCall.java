package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.Threads;

/** Runs a driver call, which may never return, on a daemon thread and waits for a bounded time. */
final class BoundedCall {

  private BoundedCall() {}

  /**
   * Returns what the call returns.
   *
   * @param what the call's name in messages
   * @param sqlState SQLState of a timeout, and of a failure for which the driver has none
   * @param late closes a result that comes after the timeout or an interrupt
   * @throws SQLException if the call fails, the timeout passes, or this thread is interrupted; its
   *     interrupt flag is then set again
   */
  static <T> T run(
      String what, Callable<T> call, Duration timeout, String sqlState, Consumer<T> late)
      throws SQLException {
    var result = new CompletableFuture<T>();
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
    try {
      return result.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw asSqlException(what, sqlState, e.getCause());
    } catch (TimeoutException e) {
      var unused = result.thenAccept(late);
      throw new SQLTimeoutException(
          what + " took longer than " + timeout.toMillis() + " ms", sqlState, e);
    } catch (InterruptedException e) {
      var unused = result.thenAccept(late);
      Thread.currentThread().interrupt();
      throw new SQLException(what + " was interrupted", sqlState, e);
    }
  }

  /** Drivers also throw runtime exceptions, errors, and SQLExceptions without a state. */
  private static SQLException asSqlException(
      String what, String sqlState, @Nullable Throwable failure) {
    if (failure instanceof SQLException sql && sql.getSQLState() != null) {
      return sql;
    }
    var message = what + " failed: " + failure;
    return failure instanceof SQLTimeoutException
        ? new SQLTimeoutException(message, sqlState, failure)
        : new SQLException(message, sqlState, failure);
  }
}
