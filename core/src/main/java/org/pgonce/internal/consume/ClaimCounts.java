package org.pgonce.internal.consume;

/** What the claims of a subscription came to so far. Guarded by the consumer's lock. */
final class ClaimCounts {

  // Where fewer come in the 50 ms between two questions, a wake-up is quicker, and costs little.
  private static final int MANY = 6;

  private long begun;
  private long begunBefore;
  private long claims;
  private long empty;
  private long emptyOfDue;
  private long claimed;
  private long claimedBefore;
  private long emptyBefore;

  void begins() {
    begun++;
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
      emptyOfDue += isDue ? 1 : 0;
    } else if (!isDue) {
      claimed += count;
    }
  }

  long claims() {
    return claims;
  }

  long empty() {
    return empty;
  }

  /** Whether a claim has begun since this was asked last. */
  boolean hasBegunSince() {
    var since = begun != begunBefore;
    begunBefore = begun;
    return since;
  }

  /**
   * Whether many new notifications were claimed since this was asked last; or some, and no claim
   * was empty.
   */
  boolean wasBusySince() {
    var some = claimed - claimedBefore;
    var neverEmpty = empty - emptyOfDue == emptyBefore;
    claimedBefore = claimed;
    emptyBefore = empty - emptyOfDue;
    return some >= MANY || (some > 0 && neverEmpty);
  }
}
