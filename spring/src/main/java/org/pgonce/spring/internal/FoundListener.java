package org.pgonce.spring.internal;

import org.pgonce.ChannelOptions;
import org.pgonce.spring.Subscription;

/**
 * A listener of the application, and where it is defined.
 *
 * @param where for an error
 */
record FoundListener<T>(Subscription<T> subscription, String where) {

  /** Where it says none, the channel has one only: else pgonce refuses it. */
  String subscriptionName() {
    var name = subscription.name();
    return name == null ? subscription.channel().options().names().iterator().next() : name;
  }

  /** As errors name the subscription. */
  String label() {
    var name = subscriptionName();
    var channel = subscription.channel().name();
    return name.equals(ChannelOptions.DEFAULT_SUBSCRIPTION)
        ? "channel " + channel
        : "subscription %s of channel %s".formatted(name, channel);
  }
}
