package org.pgonce.internal.handle;

import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.store.ContextJson;
import org.pgonce.internal.store.Installed;

/**
 * A subscription of a channel, with its handler.
 *
 * @param installed what the database says of the channel; found at the start
 */
public record Registration<T>(
    Channel<T> channel,
    String subscription,
    ComposedHandler<T> handler,
    ListenOptions options,
    Installed installed) {

  /** Before the start. */
  public Registration(
      Channel<T> channel, String subscription, Handler<T> handler, ListenOptions options) {
    this(channel, subscription, ComposedHandler.of(handler), options, Installed.NOWHERE);
  }

  public Registration<T> as(Installed found) {
    return new Registration<>(channel, subscription, handler, options, found);
  }

  public String name() {
    return channel.name();
  }

  public Mode mode() {
    return channel.mode();
  }

  /** Its name in logs and messages: the channel, and the subscription unless it has only one. */
  public String label() {
    return subscription.equals(ChannelOptions.DEFAULT_SUBSCRIPTION)
        ? name()
        : name() + "/" + subscription;
  }

  /** Whether notifications of one key wait for one another. */
  public boolean goesByKey() {
    return channel.options().goesByKey();
  }

  /** Cuts a loop of handlers. */
  public void requireDepth(int depth) throws TooDeepException {
    var most = channel.options().maxDepth();
    if (depth > most) {
      throw new TooDeepException(depth, most);
    }
  }

  public Notification<T> notification(
      long id, int attempt, @Nullable Instant storedAt, NotificationHeaders origin, T payload) {
    var given = origin.deliveryKey();
    var key = given == null ? name() + ":" + installed.epoch() + ":" + id : given;
    var context = ContextJson.read(origin.context());
    return new Notification<>(
        name(), subscription, id, key, attempt, storedAt, context, origin.depth(), payload);
  }
}
