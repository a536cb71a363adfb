package org.pgonce.internal.poll;

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

  /** Its state, for the status and the registry. */
  ChannelActivity activity();

  /** What the poll of this number says of it. */
  void polled(PollAnswer answer, long poll);
}
