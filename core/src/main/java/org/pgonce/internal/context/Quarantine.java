package org.pgonce.internal.context;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Notifications that were at work in several processes that died are run one at a time in this one.
 * So the one that kills its process is found, and those at work beside it are not counted until
 * they are dead letters. Thread-safe.
 */
public final class Quarantine {

  /** How long one is postponed, uncounted, while another is in quarantine. */
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
