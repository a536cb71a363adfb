package org.pgonce.spring;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;

/**
 * A handler as a bean, beside {@link PgOnceListener}.
 *
 * <pre>{@code
 * @Bean
 * Subscription<SignedUp> welcome(Channel<SignedUp> signedUp, Greetings greetings) {
 *   return Subscription.of(signedUp).handle((notification, tx) -> greetings.greet(notification.payload()));
 * }
 * }</pre>
 *
 * @param name of the channel's subscription; null where the channel has only one
 * @param options {@code pgonce.channels.<name>.*} overrides them
 */
public record Subscription<T>(
    Channel<T> channel, @Nullable String name, ListenOptions options, Handler<T> handler) {

  public Subscription {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(options, "options");
    Objects.requireNonNull(handler, "handler");
  }

  /** Begins a subscription with {@link ListenOptions#DEFAULT}. */
  public static <T> Builder<T> of(Channel<T> channel) {
    return new Builder<>(Objects.requireNonNull(channel, "channel"), null, ListenOptions.DEFAULT);
  }

  /** A subscription that lacks its handler. Immutable. */
  public record Builder<T>(Channel<T> channel, @Nullable String name, ListenOptions options) {

    /** For this subscription of the channel; needed where it has several. */
    public Builder<T> named(String name) {
      return new Builder<>(channel, Objects.requireNonNull(name, "name"), options);
    }

    public Builder<T> options(ListenOptions options) {
      return new Builder<>(channel, name, Objects.requireNonNull(options, "options"));
    }

    /** Completes it. A list handler is made by {@link Handler#batch}. */
    public Subscription<T> handle(Handler<T> handler) {
      return new Subscription<>(channel, name, options, handler);
    }
  }
}
