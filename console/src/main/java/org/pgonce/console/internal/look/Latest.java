package org.pgonce.console.internal.look;

import java.sql.SQLTimeoutException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.RefusedException;

/**
 * What was looked at last, and is looked at anew when it is too old. One looks at a time, without a
 * lock: it may take as long as a slow database. Meanwhile others are given the older value, up to
 * an age. Where there is none, they wait for the look, 2 s at most. Safe for use by several
 * threads.
 */
public final class Latest<T> {

  private static final long WAIT_SECONDS = 2;

  private final long freshNanos;
  private final long oldestNanos;
  private @Nullable T last;
  private long takenNanos;
  private @Nullable CompletableFuture<T> running;

  /**
   * @param freshNanos for how long a look is not repeated
   * @param oldestNanos up to which age a value is given while another looks
   */
  public Latest(long freshNanos, long oldestNanos) {
    this.freshNanos = freshNanos;
    this.oldestNanos = oldestNanos;
  }

  /**
   * What {@code look} returns, or has returned not long ago. Throws what it throws.
   *
   * @throws RefusedException if another's look takes too long
   */
  public T of(Supplier<T> look) {
    var mine = new CompletableFuture<T>();
    CompletableFuture<T> others;
    synchronized (this) {
      var known = last;
      others = running;
      var oldest = others == null ? freshNanos : Math.max(freshNanos, oldestNanos);
      if (known != null && System.nanoTime() - takenNanos <= oldest) {
        return known;
      }
      if (others == null) {
        running = mine;
      }
    }
    return others == null ? taken(look, mine) : waitedFor(others);
  }

  private T taken(Supplier<T> look, CompletableFuture<T> mine) {
    var began = System.nanoTime();
    try {
      var found = look.get();
      keep(mine, found, began);
      mine.complete(found);
      return found;
    } catch (RuntimeException | Error e) {
      keep(mine, null, began);
      mine.completeExceptionally(e);
      throw e;
    }
  }

  /** Unless something was done meanwhile. */
  private synchronized void keep(CompletableFuture<T> mine, @Nullable T found, long began) {
    if (running == mine) {
      running = null;
      if (found != null) {
        last = found;
        takenNanos = began;
      }
    }
  }

  private T waitedFor(CompletableFuture<T> others) {
    try {
      return others.get(WAIT_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw slow();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw slow();
    } catch (ExecutionException e) {
      // The same question would fail the same way.
      throw e.getCause() instanceof RuntimeException failure
          ? failure
          : new IllegalStateException(e.getCause());
    }
  }

  private static RefusedException slow() {
    return new RefusedException(
        "The database is slow: another page has asked it the same, and has no answer yet. Try again.",
        new SQLTimeoutException("another's look takes longer than " + WAIT_SECONDS + " s"));
  }

  /** Something was done: what was looked at before, or is just now, no longer counts. */
  public synchronized void expire() {
    last = null;
    running = null;
  }
}
