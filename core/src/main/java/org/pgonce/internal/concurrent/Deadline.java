package org.pgonce.internal.concurrent;

import java.time.Duration;

/**
 * A point on this JVM's monotonic clock: a wall clock that is set back must not stretch a bound.
 */
public record Deadline(long nanoTime) {

  public static Deadline in(Duration duration) {
    return new Deadline(System.nanoTime() + duration.toNanos());
  }

  /** What is left; zero once it has passed. */
  public Duration remaining() {
    return Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()));
  }

  public boolean passed() {
    return System.nanoTime() - nanoTime >= 0;
  }

  /** What is left in whole milliseconds, at least 1: to most APIs 0 means for ever. */
  public int remainingMillis() {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, remaining().toMillis()));
  }
}
