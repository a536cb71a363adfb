package org.pgonce.stage;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;

/** An observer that remembers what it has heard. */
public final class Events implements Observer {

  private final List<Event> all = new CopyOnWriteArrayList<>();

  @Override
  public void on(Event event) {
    all.add(event);
  }

  /** Those of one kind, in their order. */
  public <E extends Event> List<E> of(Class<E> kind) {
    return all.stream().filter(kind::isInstance).map(kind::cast).toList();
  }
}
