package org.pgonce;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.pgonce.internal.store.ChannelNames;

/**
 * What a channel is installed with beside its name, mode and feed, and how its payloads are read.
 * Immutable; the {@code with…} methods return changed copies. {@link PgOnce#install} brings changes
 * into the database; {@link PgOnce#start} says what listeners with another definition do. The rules
 * for payloads are not installed, but for the version in a trigger.
 *
 * @param subscriptions named handlers, each of which handles each notification once, with retries
 *     and dead letters of its own. The value is a filter: the subscription gets the notifications
 *     whose context ({@link WriterContext}) holds all its entries. At least one name, as {@link
 *     Channel#name()} allows. A subscription gets what is published from its installation on.
 *     Default {@code default}, without a filter
 * @param keyMemory how long a delivery key is remembered after all subscriptions are done with its
 *     notification, at least: publishing it again within that time stores nothing. 0 to 3,650 days,
 *     in whole milliseconds; default 0
 * @param order default {@link KeyOrder#NONE}
 * @param maxDepth how often a notification may be published by the handler of one that was itself
 *     published by a handler, and so on. What is deeper becomes a dead letter at once; a broadcast
 *     is dropped where it is heard; the publisher gets no error. Counted is what is published in
 *     the handler's transaction, by triggers too, and by {@link Publisher} on the handler's thread,
 *     whatever its connection, in whose transaction it sets {@code pgonce.depth}. 1 to 10,000,
 *     default 100
 * @param maxRate notifications per second that all processes together begin to handle, for each
 *     subscription; each attempt counts. Within one second a fifth more, and one, may begin. 1 to
 *     1,000,000, or {@link #NO_MAX_RATE}, the default
 * @param maxPerKey notifications of one key ({@link PublishOptions#withOrderKey}) that all
 *     processes together handle at once, in no order, for each subscription. What has no key is not
 *     limited; what waits for a retry does not count. 1 to 100, or {@link #NO_MAX_PER_KEY}, the
 *     default. Only with {@link KeyOrder#NONE}
 * @param wakeUps when a commit that stores notifications wakes the listeners. Default {@link
 *     WakeUps#GATED}
 * @param payload which version of the payload this code writes, and how earlier ones are read.
 *     Default {@link PayloadRules#DEFAULT}
 * @param history how long what was handled is kept, to be looked up. Default {@link History#NONE}
 */
public record ChannelOptions(
    Map<String, Map<String, String>> subscriptions,
    Duration keyMemory,
    KeyOrder order,
    int maxDepth,
    int maxRate,
    int maxPerKey,
    WakeUps wakeUps,
    PayloadRules payload,
    History history) {

  /** The one subscription of a channel that names none. */
  public static final String DEFAULT_SUBSCRIPTION = "default";

  /** As many as the listeners' concurrency allows. */
  public static final int NO_MAX_RATE = 0;

  /** As many of a key as of any. */
  public static final int NO_MAX_PER_KEY = 0;

  public static final ChannelOptions DEFAULT =
      new ChannelOptions(
          Map.of(DEFAULT_SUBSCRIPTION, Map.of()),
          Duration.ZERO,
          KeyOrder.NONE,
          100,
          NO_MAX_RATE,
          NO_MAX_PER_KEY,
          WakeUps.GATED,
          PayloadRules.DEFAULT,
          History.NONE);

  public ChannelOptions {
    var checked = new LinkedHashMap<String, Map<String, String>>();
    subscriptions.forEach(
        (name, filter) ->
            checked.put(
                ChannelNames.requireValid("subscription", name),
                Map.copyOf(Objects.requireNonNull(filter, "filter"))));
    if (checked.isEmpty()) {
      throw new IllegalArgumentException("a channel without a subscription would keep nothing");
    }
    subscriptions = Collections.unmodifiableMap(checked);
    OptionRanges.require(
        "keyMemory", keyMemory, Duration.ZERO, Duration.ofDays(3_650), "0 and 3,650 days");
    keyMemory = Duration.ofMillis(keyMemory.toMillis());
    Objects.requireNonNull(order, "order");
    OptionRanges.require("maxDepth", maxDepth, 1, 10_000);
    if (maxRate != NO_MAX_RATE) {
      OptionRanges.require("maxRate", maxRate, 1, 1_000_000);
    }
    if (maxPerKey != NO_MAX_PER_KEY) {
      OptionRanges.require("maxPerKey", maxPerKey, 1, 100);
    }
    if (maxPerKey != NO_MAX_PER_KEY && order != KeyOrder.NONE) {
      throw new IllegalArgumentException(
          "maxPerKey %d beside order %s: with an order one notification of a key is handled at a time anyway; leave one of the two out"
              .formatted(maxPerKey, order));
    }
    Objects.requireNonNull(wakeUps, "wakeUps");
    Objects.requireNonNull(payload, "payload");
    Objects.requireNonNull(history, "history");
  }

  public ChannelOptions withMaxRate(int maxRate) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  public ChannelOptions withMaxPerKey(int maxPerKey) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  /** Whether notifications have a key that their claims go by: by an order, or a limit. */
  public boolean goesByKey() {
    return order != KeyOrder.NONE || maxPerKey != NO_MAX_PER_KEY;
  }

  /** Subscriptions by these names, for everything, instead of those that it has. */
  public ChannelOptions withSubscriptions(String... names) {
    var all = new LinkedHashMap<String, Map<String, String>>();
    for (var name : names) {
      all.put(name, Map.of());
    }
    return withSubscriptions(all);
  }

  /** These subscriptions instead of those that it has. */
  public ChannelOptions withSubscriptions(Map<String, Map<String, String>> subscriptions) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  /** One more subscription, for what is written in a context with all these entries. */
  public ChannelOptions withSubscription(String name, Map<String, String> filter) {
    var all = new LinkedHashMap<>(subscriptions);
    all.put(name, filter);
    return withSubscriptions(all);
  }

  public ChannelOptions withKeyMemory(Duration keyMemory) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  public ChannelOptions withOrder(KeyOrder order) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  public ChannelOptions withMaxDepth(int maxDepth) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  public ChannelOptions withWakeUps(WakeUps wakeUps) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  public ChannelOptions withPayload(PayloadRules payload) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  /** Keeps for this time what was handled, without payloads: see {@link History}. */
  public ChannelOptions withHistory(Duration retention) {
    return withHistory(History.of(retention));
  }

  public ChannelOptions withHistory(History history) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload, history);
  }

  /** The names of the subscriptions. */
  public Set<String> names() {
    return subscriptions.keySet();
  }

  /** Refuses what a channel of this mode cannot have, and a payload version without upcaster. */
  ChannelOptions requireFitFor(Mode mode) {
    payload.requireWhole();
    var asBroadcast =
        DEFAULT
            .withSubscriptions(names().toArray(String[]::new))
            .withMaxDepth(maxDepth)
            .withPayload(payload);
    if (mode == Mode.BROADCAST && !equals(asBroadcast)) {
      throw new IllegalArgumentException(
          "a BROADCAST stores nothing, so it has no filter, key memory, order, rate, limit per key, wake-ups or history: "
              + this
              + "; take another mode, or leave them at their defaults");
    }
    return this;
  }
}
