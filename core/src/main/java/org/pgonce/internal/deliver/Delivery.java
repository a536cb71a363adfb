package org.pgonce.internal.deliver;

import org.pgonce.Publisher;
import org.pgonce.internal.claim.Claim;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** Decodes claimed notifications of one subscription and runs its handler. */
public final class Delivery<T> {

  private final Subscribed<T> subscribed;
  private final PayloadCodec codec;
  private final Publisher publisher;

  public Delivery(Subscribed<T> subscribed, PayloadCodec codec, Publisher publisher) {
    this.subscribed = subscribed;
    this.codec = codec;
    this.publisher = publisher;
  }

  /**
   * Runs the handler on a guarded connection, which it may never ask for.
   *
   * @return whether it was run: not if its condition does not hold
   * @throws UnreadablePayloadException if there is nothing to run it with
   * @throws Exception whatever the handler throws
   */
  public boolean run(Claim claim, HandlerTx.ConnectionSupplier connection) throws Exception {
    var payload = codec.decode(claim.payload().text(), subscribed.channel().payloadType());
    var notification =
        subscribed.notification(
            claim.id(), claim.attempt(), claim.createdAt(), claim.origin(), payload);
    return subscribed.handle(notification, new HandlerTx(connection, publisher));
  }
}
