package org.pgonce.test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.assertj.core.api.AbstractAssert;
import org.pgonce.Channel;

/**
 * What waits in a channel and is as the calls so far have said. Each call fails at once if nothing
 * is left. Several rows of one notification, of several subscriptions, are one.
 */
public final class PublishedAssert<T> extends AbstractAssert<PublishedAssert<T>, List<Long>> {

  // Between the publisher's look at the clock and that of the insert.
  private static final Duration TOLERANCE = Duration.ofSeconds(1);

  private final PgOnceAssert whole;
  private final Channel<T> channel;
  private final List<Stored> all;
  private final List<Stored> rows;
  private final String said;

  PublishedAssert(PgOnceAssert whole, Channel<T> channel, List<Stored> rows) {
    this(whole, channel, rows, rows, "");
  }

  private PublishedAssert(
      PgOnceAssert whole, Channel<T> channel, List<Stored> all, List<Stored> rows, String said) {
    super(rows.stream().map(Stored::id).distinct().toList(), PublishedAssert.class);
    this.whole = whole;
    this.channel = channel;
    this.all = all;
    this.rows = rows;
    this.said = said;
  }

  PublishedAssert<T> isThere() {
    if (rows.isEmpty()) {
      throw failure(
          "channel %s should have a notification%s that is committed and not yet handled. What waits in it:%s",
          channel.name(), said, PgOnceAssert.lines(all));
    }
    return this;
  }

  /** With a payload that equals this one. */
  public PublishedAssert<T> withPayload(T payload) {
    Objects.requireNonNull(payload, "payload");
    return narrowed("payload " + payload, row -> payload.equals(decoded(row)));
  }

  /**
   * With a payload of which this holds.
   *
   * @param description for the failure's message: "payload " and this
   */
  public PublishedAssert<T> withPayload(String description, Predicate<? super T> which) {
    Objects.requireNonNull(which, "which");
    return narrowed("payload " + description, row -> which.test(decoded(row)));
  }

  /**
   * Due so long after it was stored, to a second: for a due time that was given, too. Zero: at
   * once. No matter what was advanced. One whose attempt has failed waits for its backoff, and has
   * none.
   */
  public PublishedAssert<T> withDelay(Duration delay) {
    Objects.requireNonNull(delay, "delay");
    return narrowed(
        "delay " + delay,
        row -> row.attempts() == 0 && delay.minus(row.delay()).abs().compareTo(TOLERANCE) <= 0);
  }

  /** With the delivery key that its publisher gave. */
  public PublishedAssert<T> withDeliveryKey(String key) {
    Objects.requireNonNull(key, "key");
    return narrowed("delivery key " + key, row -> key.equals(row.deliveryKey()));
  }

  /** Exactly one. */
  public PublishedAssert<T> once() {
    return times(1);
  }

  /**
   * Exactly so many.
   *
   * @param count 1 or more; for none there is {@link PgOnceAssert#hasNotPublished}
   */
  public PublishedAssert<T> times(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("times(" + count + "): for none use hasNotPublished");
    }
    if (actual.size() != count) {
      throw failure(
          "channel %s should have %d%s, but has %d. What waits in it:%s",
          channel.name(), count, said, actual.size(), PgOnceAssert.lines(all));
    }
    return this;
  }

  private PublishedAssert<T> narrowed(String how, Predicate<Stored> which) {
    var left = new ArrayList<Stored>();
    for (var row : rows) {
      if (which.test(row)) {
        left.add(row);
      }
    }
    var says = said + (said.isEmpty() ? " with " : " and ") + how;
    return new PublishedAssert<>(whole, channel, all, left, says).as(descriptionText()).isThere();
  }

  private T decoded(Stored row) {
    return whole.decoded(channel, row);
  }
}
