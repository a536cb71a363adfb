package org.pgonce.internal.context;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Runs notifications whose processes died several times one at a time in this process. So the
 * deadly one is found, and those that ran beside it do not use up their attempts. Thread-safe.
 */
public final class Quarantine {

  /** How long one is postponed, uncounted, while another is in quarantine. */
  public static final Duration TURN = Duration.ofMillis(200);

  private final AtomicReference<@Nullable Stay> taken = new AtomicReference<>();

  /**
   * A notification's time in it.
   *
   * @param until by System.nanoTime(): the bound for a handler that never returns
   */
  public record Stay(long until) {}

  /** Takes it until {@link #leave}, for so long at most; null if it is taken. */
  public @Nullable Stay enter(Duration longest) {
    var now = System.nanoTime();
    var other = taken.get();
    if (other != null && other.until - now > 0) {
      return null;
    }
    var stay = new Stay(now + longest.toNanos());
    return taken.compareAndSet(other, stay) ? stay : null;
  }

  /** Does nothing if the time is over and another has it. */
  public void leave(Stay stay) {
    taken.compareAndSet(stay, null);
  }
}
