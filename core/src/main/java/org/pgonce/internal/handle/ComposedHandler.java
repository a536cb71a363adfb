package org.pgonce.internal.handle;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.BatchHandler;
import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.Notification;
import org.pgonce.Tx;

/**
 * A handler as a listener runs it: for those of several notifications that its condition holds for.
 *
 * @param takesList whether it is for several at once; else it is run for one at a time
 */
public record ComposedHandler<T>(Condition<T> condition, BatchHandler<T> handler, boolean takesList)
    implements Handler<T> {

  public static <T> ComposedHandler<T> of(Handler<T> handler) {
    return handler instanceof ComposedHandler<T> composed
        ? composed
        : new ComposedHandler<>(
            (one, tx) -> true, (one, tx) -> handler.handle(one.get(0), tx), false);
  }

  public static <T> ComposedHandler<T> ofList(BatchHandler<T> handler) {
    return new ComposedHandler<>((one, tx) -> true, handler, true);
  }

  /** The further condition is asked first. */
  public ComposedHandler<T> onlyIf(Condition<T> further) {
    return new ComposedHandler<>(
        (one, tx) -> further.holds(one, tx) && condition.holds(one, tx), handler, takesList);
  }

  /** Runs it; returns those that it was run for. */
  public List<Notification<T>> run(List<Notification<T>> notifications, Tx tx) throws Exception {
    var wanted = new ArrayList<Notification<T>>();
    for (var notification : notifications) {
      if (condition.holds(notification, tx)) {
        wanted.add(notification);
      }
    }
    if (!wanted.isEmpty()) {
      handler.handle(List.copyOf(wanted), tx);
    }
    return wanted;
  }

  @Override
  public void handle(Notification<T> notification, Tx tx) throws Exception {
    var unused = run(List.of(notification), tx);
  }
}
