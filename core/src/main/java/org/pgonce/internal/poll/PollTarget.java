package org.pgonce.internal.poll;

/** A subscription that the poll asks for. */
public interface PollTarget {

  int subscription();

  /** The id behind which the poll looks for new rows where a look at the whole takes long. */
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
