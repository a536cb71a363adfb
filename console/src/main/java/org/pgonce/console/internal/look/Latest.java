package org.pgonce.console.internal.look;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What was looked at last, and is looked at anew when it is too old. Nobody waits for another's
 * look, which may take as long as a slow database: meanwhile the older value is given, up to an
 * age. Where there is none, each looks for itself. Safe for use by several threads.
 */
public final class Latest<T> {

  private final long freshNanos;
  private final long oldestNanos;
  private @Nullable T last;
  private long takenNanos;
  private int changes;
  private int lastAfter;
  private int looking;

  /**
   * @param freshNanos for how long a look is not repeated
   * @param oldestNanos up to which age a value is given while another looks
   */
  public Latest(long freshNanos, long oldestNanos) {
    this.freshNanos = freshNanos;
    this.oldestNanos = oldestNanos;
  }

  /** What {@code look} returns, or has returned not long ago. Throws what it throws. */
  public T of(Supplier<T> look) {
    int after;
    synchronized (this) {
      var known = last;
      var oldest = looking > 0 ? Math.max(freshNanos, oldestNanos) : freshNanos;
      if (known != null && lastAfter == changes && System.nanoTime() - takenNanos <= oldest) {
        return known;
      }
      looking++;
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

  private synchronized void keep(@Nullable T found, long began, int after) {
    looking--;
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
