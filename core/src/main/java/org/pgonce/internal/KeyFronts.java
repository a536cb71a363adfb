package org.pgonce.internal;

import org.jspecify.annotations.Nullable;
import org.pgonce.internal.settle.Left;

/**
 * Where the claims of a drain look whose channel has an order or a limit per key: for new rows, and
 * for those that are due. Thread-safe.
 */
record KeyFronts(KeyFront fresh, KeyFront due) {

  static KeyFronts create() {
    return new KeyFronts(new KeyFront(System::nanoTime), new KeyFront(System::nanoTime));
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
    fresh.unblocked();
    due.unblocked();
  }

  /** A row of the key was claimed; {@link AtWork#ended} is to follow. */
  AtWork begins(@Nullable String key) {
    return new AtWork(this, key, fresh.passed(), due.passed());
  }

  /** A row that this process has at work, and how many looks had passed over rows before. */
  record AtWork(KeyFronts fronts, @Nullable String key, long freshPassed, long duePassed) {

    void ended(Left left) {
      if (key != null) {
        fronts.fresh.keyEnded(key, left.more(), freshPassed);
        fronts.due.keyEnded(key, left.due(), duePassed);
      }
    }
  }
}
