package org.pgonce.internal.deliver;

import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.internal.store.Installed;

/**
 * A channel, who handles it and how.
 *
 * @param installed what the database says of the channel; found at the start
 */
public record Subscribed<T>(
    Channel<T> channel, Handler<T> handler, ListenOptions options, Installed installed) {

  /** Before the start. */
  public Subscribed(Channel<T> channel, Handler<T> handler, ListenOptions options) {
    this(channel, handler, options, Installed.NOWHERE);
  }

  public Subscribed<T> as(Installed found) {
    return new Subscribed<>(channel, handler, options, found);
  }

  public String name() {
    return channel.name();
  }

  /** What its handler is given. */
  Notification<T> notification(long id, int attempt, @Nullable Instant storedAt, T payload) {
    var key = name() + ":" + installed.epoch() + ":" + id;
    return new Notification<>(name(), id, key, attempt, storedAt, payload);
  }
}
