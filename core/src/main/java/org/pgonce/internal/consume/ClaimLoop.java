package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.WorkerSlots;

/**
 * A worker's time at one subscription: claims, runs and settles one notification after the other,
 * in the way of its mode.
 */
interface ClaimLoop {

  /**
   * Bound on one claim: a few index look-ups. Longer than that, the network or the server is gone
   * and nobody has said so.
   */
  Duration CLAIM_TIMEOUT = Duration.ofSeconds(30);

  /**
   * Works until nothing is left that nobody has looked for.
   *
   * @throws SQLException if the database, not a notification, is in trouble
   */
  void work(Control control) throws SQLException;

  /** What a loop says to its consumer, and asks it, between two notifications. */
  interface Control {

    WorkerSlots.Slot slot();

    /** A claim begins; returns whether it is for a scheduled row. */
    boolean begins();

    /**
     * The same while one is handled still, for the next new row; false, and none may begin, where
     * scheduled rows come first or no handler may begin.
     */
    boolean beginsBehindCommit();

    /**
     * What it has found.
     *
     * @param claim the first; null if there was none
     * @param count how many
     */
    void found(@Nullable Claim claim, int count);

    /** How many may be claimed at once instead of one; the rate may allow less than is wanted. */
    int mayClaim(int most);

    /**
     * Whether so many that were claimed before, and undone, may be claimed once more: not where the
     * listener stops, a pause began, or the rate does not allow so many.
     */
    boolean mayRedo(int count);

    /**
     * So many of those that might be claimed begin no handler: the rate is one of handlers that
     * begin. {@link #found} sees to that itself where there was none.
     */
    void notBegun(int count);

    /**
     * A notification's time has ended.
     *
     * @param left what may lie behind it
     */
    void ended(RowsBehind left);

    /** Whether no handler may begin: what was claimed all the same goes back. */
    boolean isPaused();

    /** Whether there may be something that no claim has looked for yet. */
    boolean mayGoOn();
  }
}
