package org.pgonce.internal.poll;

import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;

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

  /** Its state for the status. */
  ChannelActivity activity();

  /** Why nothing of it is handled here, as it was installed otherwise since; null if it is. */
  @Nullable String difference();

  /** What the poll of this number says of it. */
  void polled(PollAnswer answer, long poll);
}
