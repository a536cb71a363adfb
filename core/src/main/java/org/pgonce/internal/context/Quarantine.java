package org.pgonce.internal.context;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What was at work in several processes when they died is run one at a time in this one: so whoever
 * ends it too is found, and those that were only at work beside it are not counted along until they
 * are dead letters. Safe for use by several threads.
 */
public final class Quarantine {

  /** How long one waits for its turn, among the scheduled rows, uncounted. */
  public static final Duration TURN = Duration.ofMillis(200);

  private final AtomicReference<@Nullable Stay> taken = new AtomicReference<>();

  /**
   * The one that is in it.
   *
   * @param until by System.nanoTime(): a handler that never returns keeps out nobody for longer
   */
  public record Stay(long until) {}

  /**
   * Takes it until {@link #leave}, and for so long at most.
   *
   * @return null if it is taken
   */
  public @Nullable Stay enter(Duration longest) {
    var now = System.nanoTime();
    var other = taken.get();
    if (other != null && other.until - now > 0) {
      return null;
    }
    var stay = new Stay(now + longest.toNanos());
    return taken.compareAndSet(other, stay) ? stay : null;
  }

  /** Leaves it to others, unless it is another's already. */
  public void leave(Stay stay) {
    taken.compareAndSet(stay, null);
  }
}
