package org.pgonce.internal.handle;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.store.ContextJson;
import org.pgonce.internal.store.Installed;

/**
 * A subscription of a channel, who handles it and how.
 *
 * @param installed what the database says of the channel; found at the start
 */
public record Registration<T>(
    Channel<T> channel,
    String subscription,
    Handler<T> handler,
    ListenOptions options,
    Installed installed) {

  /** Before the start. */
  public Registration(
      Channel<T> channel, String subscription, Handler<T> handler, ListenOptions options) {
    this(channel, subscription, handler, options, Installed.NOWHERE);
  }

  public Registration<T> as(Installed found) {
    return new Registration<>(channel, subscription, handler, options, found);
  }

  public String name() {
    return channel.name();
  }

  /** What logs and messages call it: the channel, and its subscription unless it has only one. */
  public String label() {
    return subscription.equals(ChannelOptions.DEFAULT_SUBSCRIPTION)
        ? name()
        : name() + "/" + subscription;
  }

  /** Whether notifications of one key wait for one another, in an order or without. */
  public boolean goesByKey() {
    return channel.options().goesByKey();
  }

  /** Runs its handler; false if that was not run, since its condition does not hold. */
  public boolean handle(Notification<T> notification, Tx tx) throws Exception {
    return run(handler, notification, tx);
  }

  /** Whether its handler gets several at once, as a list. */
  boolean takesList() {
    return takesList(handler);
  }

  private static boolean takesList(Handler<?> handler) {
    return handler instanceof ListHandler<?>
        || (handler instanceof ConditionalHandler<?> conditional
            && takesList(conditional.handler()));
  }

  /** Runs its handler, of lists, for all of them; returns those that it was run for. */
  List<Notification<T>> handleAll(List<Notification<T>> notifications, Tx tx) throws Exception {
    return runAll(handler, notifications, tx);
  }

  private static <T> List<Notification<T>> runAll(
      Handler<T> handler, List<Notification<T>> notifications, Tx tx) throws Exception {
    if (handler instanceof ConditionalHandler<T> conditional) {
      var wanted = new ArrayList<Notification<T>>();
      for (var notification : notifications) {
        if (conditional.condition().holds(notification, tx)) {
          wanted.add(notification);
        }
      }
      return runAll(conditional.handler(), List.copyOf(wanted), tx);
    }
    if (!notifications.isEmpty()) {
      ((ListHandler<T>) handler).handler().handle(notifications, tx);
    }
    return notifications;
  }

  private static <T> boolean run(Handler<T> handler, Notification<T> notification, Tx tx)
      throws Exception {
    if (handler instanceof ConditionalHandler<T> conditional) {
      return conditional.runs(notification, tx);
    }
    handler.handle(notification, tx);
    return true;
  }

  /** What its handler is given. */
  public Notification<T> notification(
      long id, int attempt, @Nullable Instant storedAt, NotificationHeaders origin, T payload) {
    var given = origin.deliveryKey();
    var key = given == null ? name() + ":" + installed.epoch() + ":" + id : given;
    var context = ContextJson.read(origin.context());
    return new Notification<>(
        name(), subscription, id, key, attempt, storedAt, context, origin.depth(), payload);
  }
}
