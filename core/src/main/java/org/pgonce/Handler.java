package org.pgonce;

import java.util.Objects;
import org.pgonce.internal.handle.ComposedHandler;

/**
 * What a listener does with a notification. Runs on a platform thread of its own, never on the
 * LISTEN connection or a driver's thread; several run at once, as {@link
 * ListenOptions#concurrency()} says, so it must be safe for that.
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
   * letter; {@link RejectedException} makes it one at once. {@link PauseException} gives it back
   * and pauses its channel.
   *
   * @param tx the transaction that the notification is settled in; used nowhere else, on no other
   *     thread, and not after the return
   */
  void handle(Notification<T> notification, Tx tx) throws Exception;

  /**
   * A handler that gets what one transaction has claimed as a list. How long that may be is {@link
   * ListenOptions#batch()}.
   *
   * @throws NullPointerException if it is null
   */
  static <T> Handler<T> batch(BatchHandler<T> handler) {
    return ComposedHandler.ofList(Objects.requireNonNull(handler, "handler"));
  }

  /**
   * A handler with a condition that is checked again when a notification has been claimed: whether
   * its recipient has opted out since it was stored, for example. Where it does not hold, the
   * handler is not run and the notification is done; {@link org.pgonce.spi.Event.Skipped} tells.
   *
   * <p>What is committed before the check is seen by it; what is committed while the handler runs
   * is not, unless the condition locks what it reads ({@code select … for share}).
   *
   * @throws NullPointerException if an argument is null
   */
  static <T> Handler<T> onlyIf(Condition<T> condition, Handler<T> handler) {
    Objects.requireNonNull(condition, "condition");
    Objects.requireNonNull(handler, "handler");
    return ComposedHandler.of(handler).onlyIf(condition);
  }
}
