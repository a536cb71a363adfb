package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs a driver call that knows no bound, or keeps none, on a daemon thread of its own. The caller
 * waits no longer than its timeout; what the call yields after that is handed to a cleaner.
 */
final class BoundedCall {

  private BoundedCall() {}

  /**
   * Returns what the call returns.
   *
   * @param what names the call in messages: "connecting to app@db:5432/shop"
   * @param sqlState of the exception when the timeout passes, and when the driver names none: so it
   *     is with pgjdbc-ng's own timeout, which may be the first of the two
   * @param late gets a result that nobody waits for any more
   * @throws SQLException what the call threw; or the timeout passed; or this thread was
   *     interrupted, its interrupt flag is then set again
   */
  static <T> T run(
      String what, Callable<T> call, Duration timeout, String sqlState, Consumer<T> late)
      throws SQLException {
    var result = new CompletableFuture<T>();
    DaemonThread.start(
        "pgonce-call",
        () -> {
          try {
            var value = call.call();
            // Only one of this and the caller's failure wins, so a late connection is never lost.
            if (!result.complete(value)) {
              late.accept(value);
            }
          } catch (Throwable failure) {
            result.completeExceptionally(failure);
          }
        });
    try {
      return result.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw asSqlException(what, sqlState, e.getCause());
    } catch (TimeoutException e) {
      var why = what + " took longer than " + timeout.toMillis() + " ms";
      return givenUp(result, what, new SQLTimeoutException(why, sqlState, e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return givenUp(result, what, new SQLException(what + " was interrupted", sqlState, e));
    }
  }

  /** Throws why nobody waits any more, unless the result came at just that moment. */
  private static <T> T givenUp(CompletableFuture<T> result, String what, SQLException why)
      throws SQLException {
    result.completeExceptionally(why);
    try {
      return result.join();
    } catch (CompletionException e) {
      throw asSqlException(what, why.getSQLState(), e.getCause());
    }
  }

  private static SQLException asSqlException(
      String what, String sqlState, @Nullable Throwable failure) {
    if (failure instanceof SQLException sql && sql.getSQLState() != null) {
      return sql;
    }
    // Drivers let runtime exceptions and errors of their I/O layer through.
    var message = what + " failed: " + failure;
    return failure instanceof SQLTimeoutException
        ? new SQLTimeoutException(message, sqlState, failure)
        : new SQLException(message, sqlState, failure);
  }
}
