package org.pgonce.internal;

import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.settle.Left;

/**
 * Where the claims of a drain look whose channel has an order or a limit per key: for new rows, and
 * for those that are due. Thread-safe.
 *
 * @param inUse whether the channel has; else nothing here is ever told, or has anything to tell
 */
record KeyFronts(boolean inUse, KeyFront fresh, KeyFront due) {

  static KeyFronts create(boolean inUse) {
    return new KeyFronts(inUse, new KeyFront(System::nanoTime), new KeyFront(System::nanoTime));
  }

  KeyFront of(boolean isDue) {
    return isDue ? due : fresh;
  }

  boolean isMore() {
    return fresh.isMore() || due.isMore();
  }

  /** A scan has found that something waits, and that there are so many listeners. */
  void polled(int listeners) {
    fresh.polled(listeners);
    due.polled(listeners);
  }

  /** Keys may have been set free that nobody names. */
  void unblocked() {
    if (inUse) {
      fresh.unblocked();
      due.unblocked();
    }
  }

  /** A row was claimed; {@link AtWork#ended} is to follow. */
  @Nullable AtWork begins(Claim claim) {
    if (!inUse) {
      return null;
    }
    var key = claim.origin().orderKey();
    // As of publish in sql/publish.sql: the key of a row that was given none.
    return new AtWork(
        this, key == null ? "\u0001" + claim.id() : key, fresh.passed(), due.passed());
  }

  /** A row that this process has at work, and how many looks had passed over rows before. */
  record AtWork(KeyFronts fronts, String key, long freshPassed, long duePassed) {

    void ended(Left left) {
      fronts.fresh.keyEnded(key, left.more(), freshPassed);
      fronts.due.keyEnded(key, left.due(), duePassed);
    }
  }
}
