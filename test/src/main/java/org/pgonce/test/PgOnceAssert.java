package org.pgonce.test;

import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.assertj.core.api.AbstractAssert;
import org.pgonce.Channel;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * What is stored now: each call looks, and fails at once. Handled notifications are gone, so they
 * are not among what has been published.
 */
public final class PgOnceAssert extends AbstractAssert<PgOnceAssert, PgOnceTester> {

  private static final int MOST_LINES = 20;

  PgOnceAssert(PgOnceTester tester) {
    super(tester, PgOnceAssert.class);
  }

  /** Something waits in the channel, due now or later, of any subscription. */
  public <T> PublishedAssert<T> hasPublished(Channel<T> channel) {
    Objects.requireNonNull(channel, "channel");
    return new PublishedAssert<>(this, channel, waiting(channel)).as(descriptionText()).isThere();
  }

  /** Nothing waits in the channel. */
  public PgOnceAssert hasNotPublished(Channel<?> channel) {
    Objects.requireNonNull(channel, "channel");
    var waiting = waiting(channel);
    if (!waiting.isEmpty()) {
      throw failure("nothing should wait in channel %s, but:%s", channel.name(), lines(waiting));
    }
    return this;
  }

  /** Nothing with a payload that equals this one waits in the channel. */
  public <T> PgOnceAssert hasNotPublished(Channel<T> channel, T payload) {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(payload, "payload");
    var waiting = waiting(channel);
    if (waiting.stream().anyMatch(row -> payload.equals(decoded(channel, row)))) {
      throw failure(
          "nothing with payload %s should wait in channel %s, but:%s",
          payload, channel.name(), lines(waiting));
    }
    return this;
  }

  /** There is a dead letter of the channel. */
  public DeadLetterAssert hasDeadLetter(Channel<?> channel) {
    Objects.requireNonNull(channel, "channel");
    var dead = stored(row -> row.channel().equals(channel.name()) && row.dead() != null);
    if (dead.isEmpty()) {
      throw failure(
          "channel %s should have a dead letter, but there is none. What waits in it:%s",
          channel.name(), lines(waiting(channel)));
    }
    return new DeadLetterAssert(channel, dead).as(descriptionText());
  }

  /** No channel has a notification, due now or later, or a dead letter. */
  public PgOnceAssert isEmpty() {
    var left = stored(row -> true);
    if (!left.isEmpty()) {
      throw failure("nothing should be left, but:%s", lines(left));
    }
    return this;
  }

  private List<Stored> waiting(Channel<?> channel) {
    return stored(row -> row.channel().equals(channel.name()) && row.dead() == null);
  }

  private List<Stored> stored(Predicate<Stored> which) {
    isNotNull();
    return actual.store().all().stream().filter(which).toList();
  }

  <T> T decoded(Channel<T> channel, Stored row) {
    try {
      return channel.decode(actual.codec(), row.payload());
    } catch (UnreadablePayloadException e) {
      throw new AssertionError("the payload of " + row + " cannot be decoded", e);
    }
  }

  static String lines(List<Stored> rows) {
    if (rows.isEmpty()) {
      return " nothing";
    }
    var text = new StringBuilder();
    rows.stream().limit(MOST_LINES).forEach(row -> text.append("\n  ").append(row));
    if (rows.size() > MOST_LINES) {
      text.append("\n  and ").append(rows.size() - MOST_LINES).append(" more");
    }
    return text.toString();
  }
}
