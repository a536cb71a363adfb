package org.pgonce.console.internal.look;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What was looked at last, and is looked at anew when it is too old. Nobody waits for another's
 * look, which may take as long as a slow database: meanwhile the older value is given, and where
 * there is none each looks for itself. Safe for use by several threads.
 */
public final class Latest<T> {

  private final long freshNanos;
  private @Nullable T last;
  private long takenNanos;
  private int changes;
  private int lastAfter;
  private boolean looking;

  /**
   * @param freshNanos for how long a look is not repeated
   */
  public Latest(long freshNanos) {
    this.freshNanos = freshNanos;
  }

  /** What {@code look} returns, or has returned not long ago. Throws what it throws. */
  public T of(Supplier<T> look) {
    int after;
    synchronized (this) {
      var known = last;
      if (known != null && lastAfter == changes && (looking || isFresh())) {
        return known;
      }
      looking = true;
      after = changes;
    }
    var began = System.nanoTime();
    T found = null;
    try {
      found = look.get();
      return found;
    } finally {
      keep(found, began, after);
    }
  }

  private boolean isFresh() {
    return System.nanoTime() - takenNanos <= freshNanos;
  }

  private synchronized void keep(@Nullable T found, long began, int after) {
    looking = false;
    if (found != null && (last == null || began - takenNanos > 0)) {
      last = found;
      takenNanos = began;
      lastAfter = after;
    }
  }

  /** Something was done: what was looked at before no longer counts. */
  public synchronized void expire() {
    changes++;
  }
}
