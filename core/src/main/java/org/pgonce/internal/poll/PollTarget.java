package org.pgonce.internal.poll;

/** A subscription that the poll asks for. */
public interface PollTarget {

  int subscription();

  /** Where it takes long to look at all rows, the poll looks only at those with higher ids. */
  default long cursor() {
    return 0;
  }

  /**
   * What a poll says of it.
   *
   * @param poll its number
   */
  void polled(PollAnswer answer, long poll);
}
