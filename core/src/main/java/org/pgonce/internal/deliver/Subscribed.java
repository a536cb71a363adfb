package org.pgonce.internal.deliver;

import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;

/** A channel, who handles it and how. */
public record Subscribed<T>(Channel<T> channel, Handler<T> handler, ListenOptions options) {

  public String name() {
    return channel.name();
  }
}
