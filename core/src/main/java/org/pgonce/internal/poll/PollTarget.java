package org.pgonce.internal.poll;

import org.jspecify.annotations.Nullable;

/** A subscription that the poll asks for. */
public interface PollTarget {

  int subscription();

  /** Where it takes long to look at all rows, the poll looks only at those with higher ids. */
  default long cursor() {
    return 0;
  }

  /** How many workers this process has for it. */
  default int workers() {
    return 0;
  }

  /** Why nothing of it is handled here, as it was installed otherwise since; null if it is. */
  @Nullable String difference();

  /**
   * What a poll says of it.
   *
   * @param poll its number
   */
  void polled(PollAnswer answer, long poll);
}
