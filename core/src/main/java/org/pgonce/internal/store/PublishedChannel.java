package org.pgonce.internal.store;

import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.spi.ChannelFeed;

/** A channel that code publishes to. */
public record PublishedChannel<T>(String name, Mode mode, Class<T> payloadType)
    implements Channel<T> {

  @Override
  public ChannelFeed feed() {
    return ChannelFeed.PUBLISHED;
  }
}
