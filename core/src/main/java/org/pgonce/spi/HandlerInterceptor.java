package org.pgonce.spi;

import java.util.List;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.Tx;

/**
 * Runs around each run of a handler, and of its condition: to bind the transaction to a framework,
 * to trace, to set a logging context. Those of a {@link org.pgonce.PgOnceBuilder} are nested in
 * their order, the first outermost. What cannot be read, or is too deep, reaches neither them nor
 * the handler.
 *
 * <p>Runs on the handler's thread, several at once, within {@link
 * org.pgonce.ListenOptions#handlerTimeout()}. What it throws fails the attempt, as what the handler
 * throws does. It cannot make a handler succeed that did not: if it swallows what {@link
 * Call#proceed()} throws, the attempt fails with that all the same.
 */
@FunctionalInterface
public interface HandlerInterceptor {

  /**
   * Calls {@link Call#proceed()} exactly once, or throws. If it returns without, the attempt fails,
   * as it does if the handler threw anything, whether or not that is passed on.
   *
   * @throws Exception what the handler throws, or what is to fail the attempt
   */
  void around(Call call) throws Exception;

  /** One run of a handler. Belongs to its thread, until {@link HandlerInterceptor#around} ends. */
  interface Call {

    /**
     * One; where the handler takes a list ({@link org.pgonce.Handler#batch}), all that it may get:
     * a condition may leave some out. Unmodifiable.
     */
    List<? extends Notification<?>> notifications();

    Mode mode();

    /** What the handler gets, with its guards. */
    Tx tx();

    /**
     * Runs what is further in: the next interceptor, or the handler.
     *
     * @throws IllegalStateException at a second call, on another thread, or once {@link
     *     HandlerInterceptor#around} has ended
     * @throws Exception whatever the handler throws
     */
    void proceed() throws Exception;
  }
}
