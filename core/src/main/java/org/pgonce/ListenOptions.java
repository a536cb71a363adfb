package org.pgonce;

import java.time.Duration;
import java.util.Objects;

/**
 * How one process handles a channel. Immutable; the {@code with…} methods return changed copies.
 *
 * @param concurrency handlers of this channel at once in this process, 1 to 1,000; each holds one
 *     connection of the pool while it runs. Default 4
 * @param maxAttempts attempts before a notification becomes a dead letter, 1 to 1,000. Default 10
 * @param backoff the wait between attempts. Default {@link Backoff#DEFAULT}
 * @param handlerTimeout how long a handler may run before its session is ended and the attempt
 *     counts as failed; 10 ms to 24 hours. Default 5 minutes. When the process itself is frozen or
 *     cut off, the server ends the session once it has idled for this time and 5 s more
 */
public record ListenOptions(
    int concurrency, int maxAttempts, Backoff backoff, Duration handlerTimeout) {

  /** Defaults that are right for production. */
  public static final ListenOptions DEFAULT =
      new ListenOptions(4, 10, Backoff.DEFAULT, Duration.ofMinutes(5));

  public ListenOptions {
    requireBetween("concurrency", concurrency, 1, 1_000);
    requireBetween("maxAttempts", maxAttempts, 1, 1_000);
    Objects.requireNonNull(backoff, "backoff");
    Objects.requireNonNull(handlerTimeout, "handlerTimeout");
    if (handlerTimeout.toMillis() < 10 || handlerTimeout.compareTo(Duration.ofHours(24)) > 0) {
      throw new IllegalArgumentException(
          "handlerTimeout " + handlerTimeout + " is not between 10 ms and 24 hours");
    }
  }

  public ListenOptions withConcurrency(int concurrency) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout);
  }

  public ListenOptions withMaxAttempts(int maxAttempts) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout);
  }

  public ListenOptions withBackoff(Backoff backoff) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout);
  }

  public ListenOptions withHandlerTimeout(Duration handlerTimeout) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout);
  }

  private static void requireBetween(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " " + value + " is not between " + least + " and " + most);
    }
  }
}
