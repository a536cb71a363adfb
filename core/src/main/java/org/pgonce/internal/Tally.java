package org.pgonce.internal;

/** What the claims of a drain came to so far. Guarded by the drain's lock. */
final class Tally {

  // Where there are fewer in the time between two questions, of 50 ms, a wake-up is quicker, and
  // costs nobody much.
  private static final int MANY = 6;

  private long begun;
  private long begunBefore;
  private long claims;
  private long emptyClaims;
  private long emptyDueClaims;
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
   * @param due whether it was for scheduled rows
   */
  void found(int count, boolean due) {
    claims++;
    if (count == 0) {
      emptyClaims++;
      emptyDueClaims += due ? 1 : 0;
    } else if (!due) {
      claimed += count;
    }
  }

  /** Whether a claim has begun since this was asked last. */
  boolean hasBegunSince() {
    var since = begun != begunBefore;
    begunBefore = begun;
    return since;
  }

  long claims() {
    return claims;
  }

  long emptyClaims() {
    return emptyClaims;
  }

  private long emptyOfNew() {
    return emptyClaims - emptyDueClaims;
  }

  /**
   * Whether many new notifications were claimed since this was asked last; or some, and no claim
   * was in vain.
   */
  boolean wasBusySince() {
    var some = claimed - claimedBefore;
    var neverInVain = emptyOfNew() == emptyBefore;
    claimedBefore = claimed;
    emptyBefore = emptyOfNew();
    return some >= MANY || (some > 0 && neverInVain);
  }
}
