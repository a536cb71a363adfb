package org.pgonce.spring.internal;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.UnboundElementsSourceFilter;
import org.springframework.core.env.Environment;

/** Registers all listeners of the context with pgonce, once, before anything starts. */
final class Registrar implements SmartInitializingSingleton {

  private final ConfigurableListableBeanFactory beans;
  private final PgOnce pgonce;
  private final Channels channels;
  private final PgOnceProperties properties;
  private final ObjectProvider<Witness> witnesses;
  private final Environment environment;
  private volatile boolean thereAre;

  Registrar(
      ConfigurableListableBeanFactory beans,
      PgOnce pgonce,
      Channels channels,
      PgOnceProperties properties,
      ObjectProvider<Witness> witnesses,
      Environment environment) {
    this.beans = beans;
    this.pgonce = pgonce;
    this.channels = channels;
    this.properties = properties;
    this.witnesses = witnesses;
    this.environment = environment;
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
    for (var name : named()) {
      var channel = channels.requireRelaxed(name, "pgonce.channels." + name).name();
      var set = properties.channels().get(name);
      if (set != null) {
        // The environment spells it otherwise than a file, and comes first.
        settings.merge(channel, set, ChannelSettings::orElse);
      }
    }
    requireKnown();
    var all = new ArrayList<FoundListener<?>>(declared());
    all.addAll(new ListenerMethods(beans, channels).find());
    var handled = new HashMap<String, FoundListener<?>>();
    for (var one : all) {
      requireOne(handled.putIfAbsent(one.label(), one), one);
      listen(one, settings.get(one.subscription().channel().name()));
    }
    thereAre = !all.isEmpty();
  }

  /**
   * The channels that properties name, those included of which no setting is known: so a name with
   * a dot ends at it where it stands without brackets.
   */
  private Set<String> named() {
    var named =
        Binder.get(environment)
            .bind("pgonce.channels", Bindable.mapOf(String.class, Object.class))
            .orElse(Map.of())
            .keySet();
    var all = new LinkedHashSet<>(properties.channels().keySet());
    all.addAll(named);
    return all;
  }

  /**
   * Boot passes over a misspelt property. It is refused here, behind the channels' names, of whose
   * errors more is known; in the environment pgonce_* may be for others.
   */
  private void requireKnown() {
    var strict =
        new NoUnboundElementsBindHandler(BindHandler.DEFAULT, new UnboundElementsSourceFilter());
    Binder.get(environment, strict).bind("pgonce", PgOnceProperties.class);
  }

  /** Whether something is listened to. */
  boolean areThere() {
    return thereAre;
  }

  /** Of this context alone, as methods are: those of a parent are registered there. */
  private List<FoundListener<?>> declared() {
    var found = new ArrayList<FoundListener<?>>();
    for (Subscription<?> bean : beans.getBeansOfType(Subscription.class).values()) {
      found.add(new FoundListener<>(bean, "a Subscription bean"));
    }
    return found;
  }

  private static void requireOne(@Nullable FoundListener<?> before, FoundListener<?> one) {
    if (before != null) {
      throw new Refusal(
          "%s and %s both listen to %s, which has one handler in a process. For each to get every notification, define the channel with a subscription for each (ChannelOptions.withSubscriptions(\"mail\", \"audit\")) and name one in each (subscription = \"mail\"). For more at once, keep one and raise its concurrency"
              .formatted(before.where(), one.where(), one.label()));
    }
  }

  private <T> void listen(FoundListener<T> found, @Nullable ChannelSettings set) {
    var subscription = found.subscription();
    var channel = subscription.channel();
    var options = subscription.options();
    if (set != null) {
      try {
        options = set.over(options);
      } catch (IllegalArgumentException e) {
        throw new Refusal("pgonce.channels." + channel.name() + ": " + e.getMessage(), e);
      }
    }
    try {
      if (subscription.name() == null) {
        pgonce.listen(channel, options, subscription.handler());
      } else {
        pgonce.listen(channel, subscription.name(), options, subscription.handler());
      }
    } catch (IllegalArgumentException e) { // it cannot know where the listener is
      throw new Refusal(found.where() + ": " + e.getMessage(), e);
    }
    var named = found.subscriptionName();
    for (var witness : witnesses) {
      witness.sees(channel, named, options, subscription.handler());
    }
  }
}
