package org.pgonce.internal.handle;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.spi.HandlerInterceptor;

/**
 * One run of a handler, and of its condition, inside the interceptors. This is what the first of
 * them is called with; the next gets one of its own. Of one thread.
 */
final class Interception<T> implements HandlerInterceptor.Call {

  private final List<HandlerInterceptor> interceptors;
  private final Registration<T> subscribed;
  private final List<Notification<T>> notifications;
  private final HandlerTx tx;
  private final Thread thread = Thread.currentThread();
  private boolean mayProceed = true;
  private @Nullable List<Notification<T>> ran;
  private @Nullable Throwable failure;

  /**
   * @param interceptors those that the run still has to go through, the outermost first
   */
  Interception(
      List<HandlerInterceptor> interceptors,
      Registration<T> subscribed,
      List<Notification<T>> notifications,
      HandlerTx tx) {
    this.interceptors = interceptors;
    this.subscribed = subscribed;
    this.notifications = notifications;
    this.tx = tx;
  }

  /** Returns those that the handler was run for. */
  List<Notification<T>> run() throws Exception {
    if (interceptors.isEmpty()) {
      return subscribed.handler().run(notifications, tx);
    }
    var first = interceptors.get(0);
    try {
      first.around(this);
    } finally {
      mayProceed = false;
    }
    if (ran != null) {
      return ran;
    }
    // The interceptor kept it.
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure instanceof Exception kept) {
      throw kept;
    }
    if (failure != null) {
      throw new IllegalStateException(failure);
    }
    throw new IllegalStateException(
        "interceptor %s returned without a call of proceed(), so the handler of channel %s did not run. Instead: throw, to fail the attempt; or give the handler a condition (Handler.onlyIf), to leave a notification out"
            .formatted(first.getClass().getName(), subscribed.label()));
  }

  @Override
  public List<Notification<T>> notifications() {
    return notifications;
  }

  @Override
  public Mode mode() {
    return subscribed.channel().mode();
  }

  @Override
  public HandlerTx tx() {
    return tx;
  }

  @Override
  public void proceed() throws Exception {
    if (!mayProceed || thread != Thread.currentThread()) {
      throw new IllegalStateException(
          "proceed() is called once, on the handler's thread, before around() ends: a handler runs once in an attempt");
    }
    mayProceed = false;
    var further = interceptors.subList(1, interceptors.size());
    try {
      ran = new Interception<>(further, subscribed, notifications, tx).run();
    } catch (Throwable thrown) {
      failure = thrown;
      throw thrown;
    }
  }
}
