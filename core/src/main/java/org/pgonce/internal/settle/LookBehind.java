package org.pgonce.internal.settle;

import java.util.concurrent.atomic.AtomicInteger;
import org.pgonce.internal.claim.RowsBehind;

/**
 * Decides which deletions look for rows behind theirs: each, until {@link #SEEN} in a row have seen
 * one; then one in {@link #UNSEEN}. The price is an empty claim at the end of a backlog.
 */
final class LookBehind {

  private static final int SEEN = 8;
  private static final int UNSEEN = 16;

  // How many in a row have seen a row; or, if negative, how many more need not look. After these
  // one row seen is enough.
  private final AtomicInteger count = new AtomicInteger();

  /** Whether the next deletion need not look. */
  boolean goesOn() {
    return count.getAndUpdate(n -> n == -1 ? SEEN - 1 : n < 0 ? n + 1 : n) < 0;
  }

  /** A deletion has looked. */
  RowsBehind seen(RowsBehind left) {
    count.updateAndGet(n -> n < 0 ? n : !left.more() ? 0 : n + 1 < SEEN ? n + 1 : -UNSEEN);
    return left;
  }
}
