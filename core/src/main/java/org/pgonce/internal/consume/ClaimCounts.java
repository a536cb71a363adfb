package org.pgonce.internal.consume;

/** Counts the claims of a subscription. Guarded by the consumer's lock. */
final class ClaimCounts {

  // If fewer come in the 50 ms between two questions, a wake-up is quicker, and costs little.
  private static final int MANY = 6;

  private long claims;
  private long empty;
  // Since the last question.
  private boolean hasBegun;
  private long claimed;
  private boolean wasEmpty;

  void begins() {
    hasBegun = true;
  }

  /**
   * A claim has ended.
   *
   * @param count how many notifications it has
   * @param isDue whether it was for scheduled rows
   */
  void found(int count, boolean isDue) {
    claims++;
    if (count == 0) {
      empty++;
    }
    if (!isDue) {
      claimed += count;
      wasEmpty |= count == 0;
    }
  }

  long claims() {
    return claims;
  }

  long empty() {
    return empty;
  }

  /** Whether a claim has begun since the last question. */
  boolean hasBegunSince() {
    var since = hasBegun;
    hasBegun = false;
    return since;
  }

  /**
   * Whether since the last question many new rows were claimed; or some, and no claim was empty.
   */
  boolean wasBusySince() {
    var busy = claimed >= MANY || (claimed > 0 && !wasEmpty);
    claimed = 0;
    wasEmpty = false;
    return busy;
  }
}
