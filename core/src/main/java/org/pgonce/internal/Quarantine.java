package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;

/**
 * What was at work in several processes when they died is run one at a time in this one: so whoever
 * ends it too is found, and those that were only at work beside it are not counted along until they
 * are dead letters. Safe for use by several threads.
 */
public final class Quarantine {

  /** How long one waits for its turn, among the scheduled rows, uncounted. */
  static final Duration TURN = Duration.ofMillis(200);

  private final AtomicReference<@Nullable Stay> taken = new AtomicReference<>();

  /**
   * The one that is in it.
   *
   * @param until by System.nanoTime(): a handler that never returns keeps out nobody for longer
   */
  record Stay(long until) {}

  /** Whether it has to be alone: it was in two deaths, or another one would use its attempts up. */
  static boolean isFor(Claim suspect, int deaths, int nextAttempt, int maxAttempts) {
    return suspect.suspect() && (deaths >= 2 || nextAttempt >= maxAttempts);
  }

  /**
   * Takes it until {@link #leave}, and for so long at most.
   *
   * @return null if it is taken
   */
  @Nullable Stay enter(Duration longest) {
    var now = System.nanoTime();
    var other = taken.get();
    if (other != null && other.until - now > 0) {
      return null;
    }
    var stay = new Stay(now + longest.toNanos());
    return taken.compareAndSet(other, stay) ? stay : null;
  }

  /** Leaves it to others, unless it is another's already. */
  void leave(Stay stay) {
    taken.compareAndSet(stay, null);
  }
}
