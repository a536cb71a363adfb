package org.pgonce.internal.handle;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.BatchHandler;
import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.Notification;
import org.pgonce.Tx;

/**
 * A handler as a listener runs it: for those of several notifications that its conditions hold for.
 *
 * @param conditions asked in their order, until one does not hold
 * @param takesList whether it is for several at once; else it is run for one at a time
 */
public record ComposedHandler<T>(
    List<Condition<T>> conditions, BatchHandler<T> handler, boolean takesList)
    implements Handler<T> {

  public static <T> ComposedHandler<T> of(Handler<T> handler) {
    return handler instanceof ComposedHandler<T> composed
        ? composed
        : new ComposedHandler<>(List.of(), (one, tx) -> handler.handle(one.get(0), tx), false);
  }

  public static <T> ComposedHandler<T> ofList(BatchHandler<T> handler) {
    return new ComposedHandler<>(List.of(), handler, true);
  }

  public ComposedHandler<T> onlyIf(Condition<T> further) {
    var all = new ArrayList<Condition<T>>();
    all.add(further);
    all.addAll(conditions);
    return new ComposedHandler<>(List.copyOf(all), handler, takesList);
  }

  public boolean wants(Notification<T> notification, Tx tx) throws Exception {
    for (var condition : conditions) {
      if (!condition.holds(notification, tx)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Runs it.
   *
   * @param notifications an immutable list
   * @return those that it was run for
   */
  public List<Notification<T>> run(List<Notification<T>> notifications, Tx tx) throws Exception {
    if (conditions.isEmpty()) {
      handler.handle(notifications, tx);
      return notifications;
    }
    var wanted = new ArrayList<Notification<T>>();
    for (var notification : notifications) {
      if (wants(notification, tx)) {
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
