package org.pgonce;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;

/**
 * How long a failed notification waits: the first delay, doubled with each further failure up to
 * the longest. It waits a random time between half of that delay and all of it, so that what failed
 * together does not come back together.
 *
 * @param first at least 1 ms
 * @param longest not below {@code first}, at most 365 days
 */
public record Backoff(Duration first, Duration longest) {

  /** 1 second, doubled up to 15 minutes: the first wait takes 0.5 to 1 s. */
  public static final Backoff DEFAULT = new Backoff(Duration.ofSeconds(1), Duration.ofMinutes(15));

  public Backoff {
    Objects.requireNonNull(first, "first");
    Objects.requireNonNull(longest, "longest");
    if (first.compareTo(Duration.ofMillis(1)) < 0) {
      throw new IllegalArgumentException(
          "first backoff " + first + " is below 1 ms: a failing notification would spin");
    }
    if (longest.compareTo(first) < 0 || longest.compareTo(Duration.ofDays(365)) > 0) {
      throw new IllegalArgumentException(
          "longest backoff " + longest + " is not between the first, " + first + ", and 365 days");
    }
  }

  /** The delay after the given number of failures, from 1. */
  public Duration after(int failures) {
    var whole = first.toMillis();
    for (var i = 1; i < failures && whole < longest.toMillis(); i++) {
      whole *= 2;
    }
    whole = Math.min(whole, longest.toMillis());
    return Duration.ofMillis(
        whole / 2 + ThreadLocalRandom.current().nextLong(whole - whole / 2 + 1));
  }
}
