package org.pgonce.spi;

import java.util.List;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.Tx;

/**
 * Runs around each run of a handler, and of its condition: to bind the transaction to a framework,
 * to trace, to set a logging context. Those of a {@link org.pgonce.PgOnceBuilder} are nested in
 * their order, the first outermost.
 *
 * <p>Runs on the handler's thread, several at once. What it throws fails the attempt, as what the
 * handler throws does.
 */
@FunctionalInterface
public interface HandlerInterceptor {

  /**
   * Calls {@link Call#proceed()} exactly once, or throws.
   *
   * @throws Exception what the handler throws, or what is to fail the attempt
   */
  void around(Call call) throws Exception;

  /** One run of a handler. Belongs to its thread, until {@link HandlerInterceptor#around} ends. */
  interface Call {

    /** One; several where the handler takes a list ({@link org.pgonce.Handler#batch}). */
    List<? extends Notification<?>> notifications();

    Mode mode();

    /** The transaction that the handler gets. */
    Tx tx();

    /**
     * Runs what is further in: the next interceptor, or the handler.
     *
     * @throws IllegalStateException at a second call
     * @throws Exception whatever the handler throws
     */
    void proceed() throws Exception;
  }
}
