package org.pgonce;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.store.ContextJson;
import org.pgonce.internal.store.StorableText;

/**
 * How a notification is published. Immutable; the {@code with…} methods return changed copies. A
 * {@link Mode#BROADCAST} stores nothing and takes none of these.
 *
 * @param delay how long after its publishing (its statement, not its commit) it is due, by the
 *     database's clock, in whole microseconds, rounded up. 0 or negative: at once. At most 365,000
 *     days. Null, the default: at once
 * @param dueAt when it is due instead, to the microsecond, rounded up; a past time: at once. Not
 *     after the year 9999. Null, the default: at once
 * @param deliveryKey its key, unique within the channel: while a notification of that key waits, is
 *     handled or is a dead letter, and as long after that as the channel remembers keys ({@link
 *     ChannelOptions#keyMemory()}), publishing the key again stores nothing. 1 to 500 characters;
 *     {@link DeliveryKey#of} makes one of several parts. Null, the default: none
 * @param orderKey the key that an order or a limit goes by; only on a channel that has one of the
 *     two, see {@link KeyOrder} and {@link ChannelOptions#maxPerKey()}. 1 to 500 characters. In an
 *     order those behind it wait until it is due, too. Null, the default: it waits for no other
 * @param samePayload whether it is an error that the delivery key was given to another payload
 *     before: another JSON text, to the letter; what a trigger has stored counts as another.
 *     Default false: it is there already, whatever its payload
 * @param context of this notification alone, added to that of its transaction ({@link
 *     WriterContext}), whose values it overrides key by key; both together at most 10,000
 *     characters as JSON. Default none
 */
public record PublishOptions(
    @Nullable Duration delay,
    @Nullable Instant dueAt,
    @Nullable String deliveryKey,
    @Nullable String orderKey,
    boolean samePayload,
    Map<String, String> context) {

  private static final Duration LONGEST_DELAY = Duration.ofDays(365_000);
  private static final Instant LAST = Instant.parse("9999-12-31T23:59:59.999999Z");

  /** Due at once, without any key. */
  public static final PublishOptions DEFAULT =
      new PublishOptions(null, null, null, null, false, Map.of());

  public PublishOptions {
    if (delay != null && dueAt != null) {
      throw new IllegalArgumentException("both delay and dueAt are given: give one of them");
    }
    if (delay != null && delay.compareTo(LONGEST_DELAY) > 0) {
      throw new IllegalArgumentException("delay " + delay + " is longer than 365,000 days");
    }
    if (dueAt != null && dueAt.isAfter(LAST)) {
      throw new IllegalArgumentException("dueAt " + dueAt + " is after " + LAST);
    }
    if (deliveryKey != null) {
      StorableText.requireKey("deliveryKey", deliveryKey);
    }
    if (orderKey != null) {
      StorableText.requireKey("orderKey", orderKey);
    }
    var unused = ContextJson.of(context); // refuses what cannot be stored
    context = Map.copyOf(context);
  }

  /** Due so long after its publishing, instead of at a time. */
  public PublishOptions withDelay(Duration delay) {
    Objects.requireNonNull(delay, "delay");
    return new PublishOptions(delay, null, deliveryKey, orderKey, samePayload, context);
  }

  /** Due at that time, instead of after a delay. */
  public PublishOptions withDueAt(Instant dueAt) {
    Objects.requireNonNull(dueAt, "dueAt");
    return new PublishOptions(null, dueAt, deliveryKey, orderKey, samePayload, context);
  }

  public PublishOptions withDeliveryKey(String deliveryKey) {
    Objects.requireNonNull(deliveryKey, "deliveryKey");
    return new PublishOptions(delay, dueAt, deliveryKey, orderKey, samePayload, context);
  }

  /** With the key that an order or a limit goes by. */
  public PublishOptions withOrderKey(String orderKey) {
    Objects.requireNonNull(orderKey, "orderKey");
    return new PublishOptions(delay, dueAt, deliveryKey, orderKey, samePayload, context);
  }

  public PublishOptions withSamePayload(boolean samePayload) {
    return new PublishOptions(delay, dueAt, deliveryKey, orderKey, samePayload, context);
  }

  /**
   * With this context beside that of the transaction, instead of one that was given here before.
   *
   * @throws IllegalArgumentException if a key is empty, if there is text that PostgreSQL cannot
   *     store (NUL, lone surrogate), or if it is longer than 10,000 characters as JSON
   */
  public PublishOptions withContext(Map<String, String> context) {
    return new PublishOptions(delay, dueAt, deliveryKey, orderKey, samePayload, context);
  }

  /**
   * Returns these options.
   *
   * @throws IllegalArgumentException if nothing can be published to the channel with them
   */
  PublishOptions requireFitFor(Channel<?> channel) {
    if (channel.mode() == Mode.BROADCAST && !equals(DEFAULT)) {
      throw new IllegalArgumentException(
          "channel %s is a BROADCAST, which stores nothing: it takes no due time, delivery key, order key or context; leave them out, or give the channel another mode"
              .formatted(channel.name()));
    }
    if (orderKey != null && !channel.options().goesByKey()) {
      throw new IllegalArgumentException(
          "channel %s keeps no order (KeyOrder.NONE) and has no limit per key, so an order key would do nothing: define it with one of the two, or leave the key out"
              .formatted(channel.name()));
    }
    return this;
  }
}
