package org.pgonce;

import java.time.Duration;
import java.util.Objects;

/**
 * How one process handles a channel. Immutable; the {@code with…} methods return changed copies.
 *
 * @param concurrency handlers of this channel at once in this process, 1 to 1,000; in {@link
 *     Mode#EXACTLY_ONCE} each holds one connection of the pool while it runs. Default 4
 * @param maxAttempts attempts before a notification becomes a dead letter, 1 to 1,000. Default 10;
 *     always 1 in {@link Mode#AT_MOST_ONCE}. In {@link Mode#EXACTLY_ONCE} an attempt that
 *     PostgreSQL undoes for a deadlock or a serialization failure runs again at once, up to three
 *     times, before it counts
 * @param backoff the wait between attempts. Default {@link Backoff#DEFAULT}
 * @param handlerTimeout how long a handler may run before its session is ended and the attempt
 *     counts as failed; 10 ms to 24 hours. Default 5 minutes. In {@link Mode#EXACTLY_ONCE} it goes
 *     uncounted if another worker claims the row before that is recorded. If the process itself is
 *     frozen or cut off, the server ends the session once it has idled for this time and 5 s more
 * @param batch notifications that one transaction claims, handles, deletes and commits at most; 1
 *     to 1,000, default 1. If one of them fails, all are undone and handled one by one. After a
 *     deadlock or a serialization failure, which is not counted, this process makes no batch for 20
 *     s. A plain {@link Handler} runs with the context and depth of its own notification, at one
 *     round trip more for each, and must not change a setting (SET LOCAL, set_config): after its
 *     first try each notification gets a transaction of its own. A list handler ({@link
 *     Handler#batch}) may. {@code handlerTimeout} is for all of them together. Only in {@link
 *     Mode#EXACTLY_ONCE} without {@link KeyOrder} and without a limit per key. A maximum rate
 *     bounds a batch to a twentieth of a second's share. Behind a batch of several that is not full
 *     the next begins 15 ms later at the earliest, so that it is fuller
 * @param lease in {@link Mode#AT_LEAST_ONCE} and {@link Mode#AT_MOST_ONCE} how long a claim holds
 *     unless its process renews it, which it does each third of this time; by the database's clock.
 *     100 ms to 24 hours, default 30 s. After a death the notification waits this long
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
    OptionRanges.require("concurrency", concurrency, 1, 1_000);
    OptionRanges.require("maxAttempts", maxAttempts, 1, 1_000);
    OptionRanges.require("batch", batch, 1, 1_000);
    Objects.requireNonNull(backoff, "backoff");
    var day = Duration.ofHours(24);
    OptionRanges.require(
        "handlerTimeout", handlerTimeout, Duration.ofMillis(10), day, "10 ms and 24 hours");
    OptionRanges.require("lease", lease, Duration.ofMillis(100), day, "100 ms and 24 hours");
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

  /** Refuses a batch where the channel's mode, order or limit does not allow it. */
  ListenOptions requireFitFor(Channel<?> channel) {
    if (batch > 1 && channel.mode() != Mode.EXACTLY_ONCE) {
      throw new IllegalArgumentException(
          "batch %d for channel %s, which is %s: several in one transaction are for EXACTLY_ONCE; leave it at 1"
              .formatted(batch, channel.name(), channel.mode()));
    }
    var options = channel.options();
    if (batch > 1 && options.goesByKey()) {
      throw new IllegalArgumentException(
          "batch %d for channel %s, which has %s: a batch would keep the places of its keys from others; leave it at 1"
              .formatted(
                  batch,
                  channel.name(),
                  options.order() == KeyOrder.NONE
                      ? "a limit of " + options.maxPerKey() + " per key"
                      : "order " + options.order()));
    }
    return this;
  }
}
