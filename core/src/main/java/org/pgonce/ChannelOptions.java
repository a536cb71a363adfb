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
 * Immutable; the {@code with…} methods return changed copies. {@link PgOnce#install} brings what
 * has changed into the database; a listener whose definition differs from what is installed refuses
 * to start, and one that runs handles nothing of the channel any more. The rules for payloads are
 * code alone, and differ from nothing that is installed: only the trigger of a trigger channel
 * knows its version.
 *
 * @param subscriptions the named handlers of the channel, each of which handles each notification
 *     once, alone in success, retry and dead letter; and for each the context that it is for:
 *     notifications whose context (see {@link WriterContext}) holds all these entries, or all
 *     notifications where there are none. At least one name, as {@link Channel#name()} allows. A
 *     subscription gets what is published from its installation on. Default {@code default}, for
 *     everything
 * @param keyMemory how long a delivery key is remembered after its notification is done by all
 *     subscriptions: publishing it again within that time adds nothing. It counts from the last
 *     statement before the commit of a handler; where a notification was cancelled, discarded, or
 *     dropped with its subscription, or was for no subscription, from the first housekeeping of a
 *     listener after the commit, within some minutes: so it is never shorter, and longer while none
 *     runs. 0 to 3,650 days, in whole milliseconds; default 0, which is until it is done
 * @param order default {@link KeyOrder#NONE}
 * @param maxDepth how often a notification may be published by the handler of one that was itself
 *     published by a handler, and so on: what is deeper becomes a dead letter at once, and a
 *     broadcast is dropped by whoever hears it, and told ({@link
 *     org.pgonce.spi.Observer#broadcastDropped}); neither fails who publishes. Counted is what is
 *     published in the handler's transaction, by triggers too, and on the handler's thread by
 *     {@link Publisher}, whatever its connection; not what triggers or SQL publish in a transaction
 *     of the handler's own, nor what its other threads do. 1 to 10,000, default 100
 * @param maxRate notifications per second that all processes together begin to handle, for each
 *     subscription: what a rate of 20 lets through in a minute is 1,200 and at most a few more.
 *     Each attempt counts. All of a batch count that is undone, and again when they are handled one
 *     by one: what their handler has done elsewhere is done. 1 to 1,000,000, or {@link
 *     #NO_MAX_RATE}, the default
 * @param maxPerKey notifications of one key that all processes together have at work at once, for
 *     each subscription, without an order among them: the key of {@link
 *     PublishOptions#withOrderKey}. What has no key is not limited. What waits for a retry is not
 *     at work; what is leased is, for as long as its lease holds. 1 to 100, or {@link
 *     #NO_MAX_PER_KEY}, the default. Only with {@link KeyOrder#NONE}: in an order it is 1 anyway
 * @param wakeUps when a commit that stores notifications wakes the listeners. Default {@link
 *     WakeUps#GATED}
 * @param payload which version of the payload this code writes, and how those of earlier versions
 *     are read. Default {@link PayloadRules#DEFAULT}
 */
public record ChannelOptions(
    Map<String, Map<String, String>> subscriptions,
    Duration keyMemory,
    KeyOrder order,
    int maxDepth,
    int maxRate,
    int maxPerKey,
    WakeUps wakeUps,
    PayloadRules payload) {

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
          PayloadRules.DEFAULT);

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
    Bounds.require(
        "keyMemory", keyMemory, Duration.ZERO, Duration.ofDays(3_650), "0 and 3,650 days");
    keyMemory = Duration.ofMillis(keyMemory.toMillis());
    Objects.requireNonNull(order, "order");
    Bounds.require("maxDepth", maxDepth, 1, 10_000);
    if (maxRate != NO_MAX_RATE) {
      Bounds.require("maxRate", maxRate, 1, 1_000_000);
    }
    if (maxPerKey != NO_MAX_PER_KEY) {
      Bounds.require("maxPerKey", maxPerKey, 1, 100);
    }
    if (maxPerKey != NO_MAX_PER_KEY && order != KeyOrder.NONE) {
      throw new IllegalArgumentException(
          "maxPerKey %d beside order %s: with an order one notification of a key is handled at a time anyway; leave one of the two out"
              .formatted(maxPerKey, order));
    }
    Objects.requireNonNull(wakeUps, "wakeUps");
    Objects.requireNonNull(payload, "payload");
  }

  public ChannelOptions withMaxRate(int maxRate) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  public ChannelOptions withMaxPerKey(int maxPerKey) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
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
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  /** One more subscription, for what is written in a context with all these entries. */
  public ChannelOptions withSubscription(String name, Map<String, String> filter) {
    var all = new LinkedHashMap<>(subscriptions);
    all.put(name, filter);
    return withSubscriptions(all);
  }

  public ChannelOptions withKeyMemory(Duration keyMemory) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  public ChannelOptions withOrder(KeyOrder order) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  public ChannelOptions withMaxDepth(int maxDepth) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  public ChannelOptions withWakeUps(WakeUps wakeUps) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  public ChannelOptions withPayload(PayloadRules payload) {
    return new ChannelOptions(
        subscriptions, keyMemory, order, maxDepth, maxRate, maxPerKey, wakeUps, payload);
  }

  /** The names of the subscriptions. */
  public Set<String> names() {
    return subscriptions.keySet();
  }

  /**
   * Returns these options.
   *
   * @throws IllegalArgumentException if a channel of this mode cannot have them, or a version of
   *     its payload lacks its upcaster
   */
  public ChannelOptions requireFitFor(Mode mode) {
    payload.requireWhole();
    var asBroadcast =
        DEFAULT
            .withSubscriptions(names().toArray(String[]::new))
            .withMaxDepth(maxDepth)
            .withPayload(payload);
    if (mode == Mode.BROADCAST && !equals(asBroadcast)) {
      throw new IllegalArgumentException(
          "a BROADCAST stores nothing, so it has no filter, key memory, order, rate, limit per key or wake-ups: "
              + this
              + "; take another mode, or leave them at their defaults");
    }
    return this;
  }
}
