package org.pgonce.internal.claim;

import org.jspecify.annotations.Nullable;

/**
 * Where the claims of a drain look whose channel has an order or a limit per key: for new rows, and
 * for those that are due. Thread-safe.
 *
 * @param inUse whether the channel has; else nothing here is ever told, or has anything to tell
 */
public record KeyCursors(boolean inUse, KeyCursor fresh, KeyCursor due) {

  public static KeyCursors create(boolean inUse) {
    return new KeyCursors(inUse, new KeyCursor(System::nanoTime), new KeyCursor(System::nanoTime));
  }

  public KeyCursor of(boolean isDue) {
    return isDue ? due : fresh;
  }

  public boolean isMore() {
    return fresh.isMore() || due.isMore();
  }

  /** A poll has found that something waits, and that there are so many listeners. */
  public void polled(int listeners) {
    fresh.polled(listeners);
    due.polled(listeners);
  }

  /** Keys may have been set free that nobody names. */
  public void unblocked() {
    if (inUse) {
      fresh.unblocked();
      due.unblocked();
    }
  }

  /** A row was claimed; {@link AtWork#ended} is to follow. */
  public @Nullable AtWork begins(Claim claim) {
    if (!inUse) {
      return null;
    }
    var key = claim.headers().orderKey();
    // As of publish in sql/publish.sql: the key of a row that was given none.
    return new AtWork(
        this, key == null ? "\u0001" + claim.id() : key, fresh.passed(), due.passed());
  }

  /** A row that this process has at work, and how many looks had passed over rows before. */
  public record AtWork(KeyCursors fronts, String key, long freshPassed, long duePassed) {

    public void ended(RowsBehind left) {
      fronts.fresh.keyEnded(key, left.more(), freshPassed);
      fronts.due.keyEnded(key, left.due(), duePassed);
    }
  }
}
