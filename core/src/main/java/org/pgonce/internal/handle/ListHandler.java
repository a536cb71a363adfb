package org.pgonce.internal.handle;

import java.util.List;
import org.pgonce.BatchHandler;
import org.pgonce.Handler;
import org.pgonce.Notification;
import org.pgonce.Tx;

/** A handler of several at once. */
public record ListHandler<T>(BatchHandler<T> handler) implements Handler<T> {

  @Override
  public void handle(Notification<T> notification, Tx tx) throws Exception {
    handler.handle(List.of(notification), tx);
  }
}
