package org.pgonce;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a handler is given.
 *
 * @param channel the channel's name
 * @param id the notification's id, unique in its database. Ids do not commit in their order
 * @param attempt which attempt this is, from 1. Attempts that ended with the death of their process
 *     or connection are not counted
 * @param storedAt when the row was stored, by the database's clock; null in BROADCAST, which stores
 *     none
 * @param payload the decoded payload
 */
public record Notification<T>(
    String channel, long id, int attempt, @Nullable Instant storedAt, T payload) {

  /**
   * A stable key of this notification: the same on every attempt, after a restart and after a
   * redrive from the dead letters. Hand it to outside systems as their idempotency key. Unique
   * within one database.
   */
  public String deliveryKey() {
    return channel + ":" + id;
  }

  /** Channel, id and attempt; never the payload, which may be secret. */
  @Override
  public String toString() {
    return "notification " + id + " of channel " + channel + " (attempt " + attempt + ")";
  }
}
