package org.pgonce;

import java.time.Duration;
import java.util.Objects;

/**
 * How one process handles a channel. Immutable; the {@code with…} methods return changed copies.
 *
 * @param concurrency handlers of this channel at once in this process, 1 to 1,000; each holds one
 *     connection of the pool while it runs. Default 4
 * @param maxAttempts attempts before a notification becomes a dead letter, 1 to 1,000. Default 10;
 *     in {@link Mode#AT_MOST_ONCE} it is 1, whatever is said here. In {@link Mode#EXACTLY_ONCE} an
 *     attempt that PostgreSQL undoes for a deadlock or a serialization failure runs again at once,
 *     up to three times, before it counts as failed; {@code handlerTimeout} is for all these runs
 * @param backoff the wait between attempts. Default {@link Backoff#DEFAULT}
 * @param handlerTimeout how long a handler may run before its session is ended and the attempt
 *     counts as failed; 10 ms to 24 hours. Default 5 minutes. When the process itself is frozen or
 *     cut off, the server ends the session once it has idled for this time and 5 s more
 * @param batch notifications that one transaction claims, handles, deletes and commits at once, as
 *     many as wait and at most so many; 1 to 1,000, default 1. If one of them fails, the work of
 *     all is undone, and they are handled one by one. After a deadlock or a serialization failure,
 *     which is not counted, this process makes no batch for 20 s. A plain {@link Handler} runs with
 *     the context and depth of its own notification, at one round trip more for each. It must not
 *     change a setting (SET LOCAL, set_config): from its first try on, each notification gets a
 *     transaction of its own. A list handler ({@link Handler#batch}) is free to. {@code
 *     handlerTimeout} is for all of them together, and they are in memory together. Only in {@link
 *     Mode#EXACTLY_ONCE} without {@link KeyOrder} and without a limit per key. Under a maximum rate
 *     a batch is no larger than a twentieth of a second's share
 * @param lease in {@link Mode#AT_LEAST_ONCE} and {@link Mode#AT_MOST_ONCE} how long a claim holds
 *     without a sign of life of its process, which gives one each third of it; by the database's
 *     clock. 100 ms to 24 hours, default 30 s. After a death the notification waits this long
 */
public record ListenOptions(
    int concurrency,
    int maxAttempts,
    Backoff backoff,
    Duration handlerTimeout,
    int batch,
    Duration lease) {

  /** Defaults that are right for production. */
  public static final ListenOptions DEFAULT =
      new ListenOptions(4, 10, Backoff.DEFAULT, Duration.ofMinutes(5), 1, Duration.ofSeconds(30));

  public ListenOptions {
    Bounds.require("concurrency", concurrency, 1, 1_000);
    Bounds.require("maxAttempts", maxAttempts, 1, 1_000);
    Bounds.require("batch", batch, 1, 1_000);
    Objects.requireNonNull(backoff, "backoff");
    var day = Duration.ofHours(24);
    Bounds.require(
        "handlerTimeout", handlerTimeout, Duration.ofMillis(10), day, "10 ms and 24 hours");
    Bounds.require("lease", lease, Duration.ofMillis(100), day, "100 ms and 24 hours");
  }

  public ListenOptions withConcurrency(int concurrency) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout, batch, lease);
  }

  public ListenOptions withMaxAttempts(int maxAttempts) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout, batch, lease);
  }

  public ListenOptions withBackoff(Backoff backoff) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout, batch, lease);
  }

  public ListenOptions withHandlerTimeout(Duration handlerTimeout) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout, batch, lease);
  }

  public ListenOptions withBatch(int batch) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout, batch, lease);
  }

  public ListenOptions withLease(Duration lease) {
    return new ListenOptions(concurrency, maxAttempts, backoff, handlerTimeout, batch, lease);
  }

  /**
   * Returns these options.
   *
   * @throws IllegalArgumentException if a channel of this mode and order cannot be handled so
   */
  public ListenOptions requireFitFor(Channel<?> channel) {
    if (batch > 1
        && (channel.mode() != Mode.EXACTLY_ONCE || channel.options().order() != KeyOrder.NONE)) {
      throw new IllegalArgumentException(
          "batch %d for channel %s, which is %s with order %s: several in one transaction are for EXACTLY_ONCE without an order; leave it at 1"
              .formatted(batch, channel.name(), channel.mode(), channel.options().order()));
    }
    if (batch > 1 && channel.options().goesByKey()) {
      throw new IllegalArgumentException(
          "batch %d for channel %s, which has a limit of %d per key: what one transaction claims is at work until all of it is, so a batch would keep the places of its keys from others; leave it at 1"
              .formatted(batch, channel.name(), channel.options().maxPerKey()));
    }
    return this;
  }
}
