package org.pgonce.internal.handle;

import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.Notification;
import org.pgonce.Tx;

/** A handler that is run where its condition holds. */
public record ConditionalHandler<T>(Condition<T> condition, Handler<T> handler)
    implements Handler<T> {

  @Override
  public void handle(Notification<T> notification, Tx tx) throws Exception {
    var unused = runs(notification, tx);
  }

  /**
   * Returns whether the handler was run; one within it that has a condition too is asked as well.
   */
  boolean runs(Notification<T> notification, Tx tx) throws Exception {
    if (!condition.holds(notification, tx)) {
      return false;
    }
    if (handler instanceof ConditionalHandler<T> inner) {
      return inner.runs(notification, tx);
    }
    handler.handle(notification, tx);
    return true;
  }
}
