package org.pgonce.internal.settle;

import java.util.concurrent.atomic.AtomicInteger;
import org.pgonce.internal.claim.RowsBehind;

/**
 * Whether rows surely lie behind one that is deleted, for all that was seen lately: amid a backlog
 * not each deletion looks. A claim that finds nothing is what it costs to be wrong, at the end of
 * the backlog and not more often than {@link #UNSEEN} times.
 */
final class LookBehind {

  private static final int SEEN = 8;
  private static final int UNSEEN = 16;

  // How many have seen a row behind them, one after the other; when that is enough, how many are
  // still to go without a look, as a negative number. The next one looks then, and if it sees
  // another row that is enough again.
  private final AtomicInteger count = new AtomicInteger();

  /** Whether the next deletion need not look. */
  boolean goesOn() {
    return count.getAndUpdate(n -> n == -1 ? SEEN - 1 : n < 0 ? n + 1 : n) < 0;
  }

  /** Yields what a deletion tells that has looked. */
  RowsBehind seen(RowsBehind left) {
    count.updateAndGet(n -> n < 0 ? n : !left.more() ? 0 : n + 1 < SEEN ? n + 1 : -UNSEEN);
    return left;
  }
}
