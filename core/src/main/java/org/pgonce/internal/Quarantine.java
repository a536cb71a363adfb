package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.internal.claim.Claim;

/**
 * What was at work in several processes when they died is run one at a time in this one: so whoever
 * ends it too is found, and those that were only at work beside it are not counted along until they
 * are dead letters. Safe for use by several threads.
 */
public final class Quarantine {

  /** How long one waits for its turn, among the scheduled rows, uncounted. */
  static final Duration TURN = Duration.ofMillis(200);

  private final AtomicBoolean taken = new AtomicBoolean();

  /** Whether it has to be alone: it was in two deaths, or another one would use its attempts up. */
  static boolean isFor(Claim suspect, int deaths, int nextAttempt, int maxAttempts) {
    return suspect.suspect() && (deaths >= 2 || nextAttempt >= maxAttempts);
  }

  /** Whether it is free; if so, it is taken until {@link #leave}. */
  boolean enter() {
    return taken.compareAndSet(false, true);
  }

  void leave() {
    taken.set(false);
  }
}
