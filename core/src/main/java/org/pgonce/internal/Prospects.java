package org.pgonce.internal;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.LongSupplier;
import org.pgonce.internal.settle.Left;

/**
 * What a drain knows of where work may be that nobody has looked for. Guarded by the drain's lock.
 */
final class Prospects {

  // Most handlers are quicker, and tell what is behind when they end: to send another worker for it
  // is two claims in vain then, in a session that is not warm.
  private static final long LONG_NANOS = Duration.ofMillis(5).toNanos();

  // A claim that takes longer may never be answered, as its connection is lost, and nobody was
  // told.
  private static final long LOST_NANOS = Duration.ofSeconds(1).toNanos();

  private final Tally tally;
  private final KeyCursors keys;
  private final LongSupplier nanoTime;
  // Those among the workers that have not finished a claim yet: what they do not find,
  // wokenMeanwhile remembers.
  private final Set<Look> looking = new HashSet<>();
  private boolean wokenMeanwhile;
  // Whether new rows may lie behind those that were claimed, and nobody has looked for them.
  private boolean behind;
  private long foundAt;
  // Whether scheduled rows may be due: then they and new rows take turns.
  private boolean due;
  private boolean dueFirst;

  /**
   * @param keys what is known of rows that wait for one another
   * @param nanoTime as of System
   */
  Prospects(Tally tally, KeyCursors keys, LongSupplier nanoTime) {
    this.tally = tally;
    this.keys = keys;
    this.nanoTime = nanoTime;
  }

  /**
   * There may be work, of which those who look may not know.
   *
   * @param isDue whether scheduled rows are due
   */
  void woken(boolean isDue) {
    wokenMeanwhile = true;
    due |= isDue;
  }

  /** Whether that was said since the last claim of new rows began. */
  boolean isWoken() {
    return wokenMeanwhile;
  }

  /** Whether new rows may lie behind one whose handler runs long, and nobody has looked since. */
  boolean isSomethingLeftBehind() {
    return behind && nanoTime.getAsLong() - foundAt >= LONG_NANOS;
  }

  boolean isSomethingDue() {
    return due || keys.due().isMore();
  }

  boolean isSomethingNew() {
    return behind || wokenMeanwhile || keys.fresh().isMore();
  }

  boolean isSomething() {
    return isSomethingNew() || isSomethingDue();
  }

  /** But for those who have been at it for so long that nothing is left to them. */
  boolean isNobodyLooking() {
    var now = nanoTime.getAsLong();
    return looking.stream().allMatch(look -> now - look.since >= LOST_NANOS);
  }

  /** A worker comes to look. */
  Look look() {
    return new Look();
  }

  /** One worker, and what it has looked for. */
  final class Look {

    private long since;
    private boolean askedForDue;
    // Whether this worker knows of new rows, or has come to look whether there are.
    private boolean more = behind;

    private Look() {
      starts();
    }

    private void starts() {
      since = nanoTime.getAsLong();
      looking.add(this);
    }

    /** A claim begins; returns whether it is to be for a scheduled row. */
    boolean begins() {
      starts();
      tally.begins();
      dueFirst = isSomethingDue() && !dueFirst;
      askedForDue = dueFirst;
      if (!askedForDue) {
        // Before the claim's snapshot is taken: a wake-up from now on may be for a row that this
        // claim does not see.
        wokenMeanwhile = false;
      }
      return askedForDue;
    }

    /**
     * A claim of new rows is sent behind a commit, which may take its time: so nobody leaves
     * anything to it.
     */
    void beginsOn() {
      tally.begins();
      askedForDue = false;
    }

    /** Whether the last claim was for a scheduled row. */
    boolean wasForDue() {
      return askedForDue;
    }

    /** It has found so many. */
    void found(int count) {
      stops();
      tally.found(count, askedForDue);
      var something = count > 0;
      if (askedForDue) {
        // Where none is found, those that are left are claimed; the scan tells of others.
        due = something;
      } else {
        behind = something;
        foundAt = nanoTime.getAsLong();
        more &= something;
      }
    }

    /**
     * A notification's time has ended.
     *
     * @param left what may lie behind it
     */
    void ended(Left left) {
      more = left.more();
      behind = more;
      due |= left.due();
    }

    /** Whether there may be something that no claim has looked for yet. */
    boolean isMoreLeft() {
      return more || due || wokenMeanwhile || keys.isMore();
    }

    /** The worker does not look any more. */
    void stops() {
      looking.remove(this);
    }
  }
}
