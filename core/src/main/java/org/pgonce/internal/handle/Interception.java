package org.pgonce.internal.handle;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.HandlerInterceptor;

/** One run of a handler, and of its condition, inside the interceptors. Of one thread. */
final class Interception<T> {

  private final List<HandlerInterceptor> interceptors;
  private final Registration<T> subscribed;
  private final List<Notification<T>> notifications;
  private final HandlerTx tx;
  private List<Notification<T>> ran = List.of();

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
    inside(0);
    return ran;
  }

  private void inside(int depth) throws Exception {
    if (depth == interceptors.size()) {
      ran = subscribed.handler().run(notifications, tx);
    } else {
      new Layer(depth).run();
    }
  }

  /** What one of the interceptors is called with. */
  private final class Layer implements HandlerInterceptor.Call {

    private final int depth;
    private final Thread thread = Thread.currentThread();
    private boolean mayProceed = true;
    private @Nullable Throwable failure;

    Layer(int depth) {
      this.depth = depth;
    }

    void run() throws Exception {
      var interceptor = interceptors.get(depth);
      boolean proceeded;
      try {
        interceptor.around(this);
      } finally {
        proceeded = !mayProceed;
        mayProceed = false;
      }
      if (!proceeded) {
        throw new IllegalStateException(
            "interceptor %s returned without a call of proceed(), so the handler of channel %s did not run. Instead: throw, to fail the attempt; or give the handler a condition (Handler.onlyIf), to leave a notification out"
                .formatted(interceptor.getClass().getName(), subscribed.label()));
      }
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure instanceof Exception swallowed) {
        throw swallowed;
      }
      if (failure != null) {
        throw new IllegalStateException(
            "the handler of channel %s threw what is neither an Error nor an Exception, and interceptor %s kept it: %s"
                .formatted(
                    subscribed.label(),
                    interceptor.getClass().getName(),
                    Failures.inWords(failure)),
            failure);
      }
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
      try {
        inside(depth + 1);
      } catch (Throwable thrown) {
        failure = thrown;
        throw thrown;
      }
    }
  }
}
