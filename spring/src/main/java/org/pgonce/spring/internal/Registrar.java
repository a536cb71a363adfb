package org.pgonce.spring.internal;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.spring.PgOnceProperties;
import org.pgonce.spring.PgOnceProperties.ChannelSettings;
import org.pgonce.spring.Subscription;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/** Registers all listeners of the context with pgonce, once, before anything starts. */
final class Registrar implements SmartInitializingSingleton {

  private final ConfigurableListableBeanFactory beans;
  private final PgOnce pgonce;
  private final Channels channels;
  private final PgOnceProperties properties;
  private final ObjectProvider<Witness> witnesses;
  private volatile boolean thereAre;

  Registrar(
      ConfigurableListableBeanFactory beans,
      PgOnce pgonce,
      Channels channels,
      PgOnceProperties properties,
      ObjectProvider<Witness> witnesses) {
    this.beans = beans;
    this.pgonce = pgonce;
    this.channels = channels;
    this.properties = properties;
    this.witnesses = witnesses;
  }

  /** Hears of each listener too, once pgonce has taken it. */
  @FunctionalInterface
  interface Witness {
    <T> void sees(
        Channel<T> channel, String subscription, ListenOptions options, Handler<T> handler);
  }

  @Override
  public void afterSingletonsInstantiated() {
    var settings = new HashMap<String, ChannelSettings>();
    properties
        .channels()
        .forEach(
            (name, set) ->
                settings.put(channels.requireRelaxed(name, "pgonce.channels." + name).name(), set));
    var all = new ArrayList<Subscription<?>>(declared().toList());
    all.addAll(new ListenerMethods(beans, channels).subscriptions());
    all.forEach(one -> listen(one, settings.get(one.channel().name())));
    thereAre = !all.isEmpty();
  }

  /** Whether something is listened to. */
  boolean areThere() {
    return thereAre;
  }

  @SuppressWarnings({"rawtypes", "unchecked"}) // a bean's type has no argument here
  private Stream<Subscription<?>> declared() {
    return (Stream) beans.getBeanProvider(Subscription.class).orderedStream();
  }

  private <T> void listen(Subscription<T> subscription, @Nullable ChannelSettings set) {
    var channel = subscription.channel();
    var options = subscription.options();
    if (set != null) {
      try {
        options = set.over(options);
      } catch (IllegalArgumentException e) {
        throw new IllegalStateException(
            "pgonce.channels." + channel.name() + ": " + e.getMessage(), e);
      }
    }
    if (subscription.name() == null) {
      pgonce.listen(channel, options, subscription.handler());
    } else {
      pgonce.listen(channel, subscription.name(), options, subscription.handler());
    }
    var named = named(subscription);
    for (var witness : witnesses) {
      witness.sees(channel, named, options, subscription.handler());
    }
  }

  /** Where it says none, the channel has one only: else pgonce has refused it. */
  private static String named(Subscription<?> subscription) {
    var name = subscription.name();
    return name == null ? subscription.channel().options().names().iterator().next() : name;
  }
}
