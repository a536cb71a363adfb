package org.pgonce.internal.handle;

import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.Notification;
import org.pgonce.Tx;

/** A handler that runs where its condition holds; several conditions become one. */
public record ConditionalHandler<T>(Condition<T> condition, Handler<T> handler)
    implements Handler<T> {

  public ConditionalHandler {
    if (handler instanceof ConditionalHandler<T> inner) {
      var outer = condition;
      condition =
          (notification, tx) ->
              outer.holds(notification, tx) && inner.condition.holds(notification, tx);
      handler = inner.handler;
    }
  }

  @Override
  public void handle(Notification<T> notification, Tx tx) throws Exception {
    if (condition.holds(notification, tx)) {
      handler.handle(notification, tx);
    }
  }
}
