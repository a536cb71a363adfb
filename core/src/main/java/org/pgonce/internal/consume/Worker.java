package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.List;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.WorkerSlots;

/** What a {@link ClaimLoop} asks, on the thread that it runs on. */
public interface Worker {

  WorkerSlots.Slot slot();

  /** No claim of the subscription begins for so long. */
  void rest(Duration time);

  /** A claim begins; returns whether it is for scheduled rows. */
  boolean begins();

  /**
   * A claim of new rows is to be sent behind a commit. False, and none may be, if scheduled rows
   * come first or no handler may begin.
   */
  boolean beginsBehindCommit();

  /** How many may be claimed at once: fewer than wanted if the rate does not allow them. */
  int permits(int wanted);

  /** The claim has found these, and could have found so many. */
  void found(List<Claim> claims, int most);

  /** Whether handlers may begin: not while the listener stops or the subscription is paused. */
  boolean mayBegin();

  /** The handler of so many notifications begins; false if it may not. */
  boolean begin(WorkerSlots.Attempt attempt, int count);

  /** What was claimed is settled, or given back, and this may lie behind it. */
  void ended(RowsBehind left);

  /** The worker runs callbacks and claims nothing; another may begin. */
  void handsOver();

  /** Whether to claim once more; waits for a moment until there is something to claim. */
  boolean mayGoOn();
}
