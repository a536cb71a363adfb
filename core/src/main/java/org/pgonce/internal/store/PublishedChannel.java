package org.pgonce.internal.store;

import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.spi.ChannelFeed;

/** A channel that code publishes to. */
public record PublishedChannel<T>(
    String name, Mode mode, Class<T> payloadType, ChannelOptions options) implements Channel<T> {

  @Override
  public ChannelFeed feed() {
    return ChannelFeed.PUBLISHED;
  }
}
