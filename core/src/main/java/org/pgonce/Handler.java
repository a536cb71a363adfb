package org.pgonce;

/**
 * What a listener does with a notification. Runs on a thread of its own (a virtual one where the
 * JVM has them), never on the LISTEN connection or a driver's thread; several run at once, as
 * {@link ListenOptions#concurrency()} says, so it must be safe for that.
 *
 * @param <T> the channel's payload type
 */
@FunctionalInterface
public interface Handler<T> {

  /**
   * Handles one notification.
   *
   * <p>Returning normally settles it. Throwing anything undoes what was written through {@code tx}
   * and retries it later, with backoff, until the attempts are used up and it becomes a dead
   * letter; {@link RejectedException} makes it one at once.
   *
   * @param tx the transaction that the notification is settled in; used nowhere else, on no other
   *     thread, and not after the return
   */
  void handle(Notification<T> notification, Tx tx) throws Exception;
}
