package org.pgonce.internal.settle;

import java.util.concurrent.atomic.AtomicInteger;
import org.pgonce.internal.claim.RowsBehind;

/**
 * Decides which deletions look for rows behind theirs: each, until {@link #SEEN} in a row have seen
 * one, and then one of {@link #UNSEEN}. The price is a claim that finds nothing at the end of a
 * backlog.
 */
final class LookBehind {

  private static final int SEEN = 8;
  private static final int UNSEEN = 16;

  // How many in a row have seen a row behind theirs; or, as a negative number, how many more need
  // not look. The next one looks then, and one more row seen is enough.
  private final AtomicInteger count = new AtomicInteger();

  /** Whether the next deletion may take it that rows lie behind it, without a look. */
  boolean goesOn() {
    return count.getAndUpdate(n -> n == -1 ? SEEN - 1 : n < 0 ? n + 1 : n) < 0;
  }

  /** A deletion that has looked has seen this. */
  RowsBehind seen(RowsBehind left) {
    count.updateAndGet(n -> n < 0 ? n : !left.more() ? 0 : n + 1 < SEEN ? n + 1 : -UNSEEN);
    return left;
  }
}
