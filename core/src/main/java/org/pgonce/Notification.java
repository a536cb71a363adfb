package org.pgonce;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a handler is given.
 *
 * @param channel the channel's name
 * @param subscription the name of the channel's subscription that handles it
 * @param id the notification's id, unique in its database. Ids do not commit in their order
 * @param deliveryKey a stable key of this notification: the same on every attempt, after a restart
 *     and after a redrive from the dead letters. Hand it to outside systems as their idempotency
 *     key. It is the key that its publisher gave ({@link PublishOptions#deliveryKey()}, or columns
 *     of a trigger channel), unique in its channel only. Where none was given, it holds the
 *     channel, the installation of pgonce and the id, and no other notification has it. A database
 *     that was restored, or whose failover lost commits, gives ids a second time until {@code
 *     pgonce.adopt}; so does one that crashes with {@code synchronous_commit = off}
 * @param attempt which attempt this is, from 1. Of those that ended with their process or
 *     connection the first is not counted in {@link Mode#EXACTLY_ONCE}, and those after it are; in
 *     {@link Mode#AT_LEAST_ONCE} each is. Runs that PostgreSQL undid for a deadlock or a
 *     serialization failure, and that pgonce repeated at once, are not counted
 * @param storedAt when the row was stored, by the database's clock; null in BROADCAST, which stores
 *     none
 * @param context what its writer said of itself, see {@link WriterContext}; empty if nothing, and
 *     in BROADCAST
 * @param depth how many handlers led to it, see {@link ChannelOptions#maxDepth()}; 0 where it was
 *     published outside of a handler
 * @param payload the decoded payload
 */
public record Notification<T>(
    String channel,
    String subscription,
    long id,
    String deliveryKey,
    int attempt,
    @Nullable Instant storedAt,
    Map<String, String> context,
    int depth,
    T payload) {

  /** Channel, id and attempt; never the payload, which may be secret. */
  @Override
  public String toString() {
    return "notification " + id + " of channel " + channel + " (attempt " + attempt + ")";
  }
}
