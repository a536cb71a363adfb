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
 *     of a trigger channel): as it was given, so it is the publisher who sees to it that no other
 *     channel, and no other subscription that calls the same system, has the same. Where none was
 *     given, it holds the channel, the installation of pgonce and the id, so that no other
 *     notification has it, after an uninstall and a new install neither. A database that was
 *     restored from a backup, or whose failover lost commits, hands out ids a second time: for what
 *     was published after the backup an outside system may have seen the keys before, and drop new
 *     notifications as repeats. {@code pgonce.adopt} then gives new ones ids that are far ahead
 * @param attempt which attempt this is, from 1. Attempts that ended with the death of their process
 *     or connection are not counted, nor are runs that PostgreSQL undid for a deadlock or a
 *     serialization failure and that pgonce repeated at once
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
