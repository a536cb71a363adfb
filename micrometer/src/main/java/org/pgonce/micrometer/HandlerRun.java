package org.pgonce.micrometer;

import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import java.util.List;
import java.util.Map;
import org.pgonce.Notification;

/**
 * What {@link HandlerObservation} observes: one run of a handler. Its carrier is the context that
 * the writer left in the notification; none for a list, which has many writers.
 */
public final class HandlerRun extends ReceiverContext<Map<String, String>> {

  private final List<? extends Notification<?>> notifications;

  HandlerRun(List<? extends Notification<?>> notifications) {
    super(Map::get, Kind.CONSUMER);
    this.notifications = notifications;
    setCarrier(notifications.size() == 1 ? notifications.get(0).context() : Map.of());
  }

  /** One; several where the handler takes a list. */
  public List<? extends Notification<?>> notifications() {
    return notifications;
  }
}
