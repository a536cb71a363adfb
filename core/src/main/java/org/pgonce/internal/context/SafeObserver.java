package org.pgonce.internal.context;

import java.util.List;
import org.pgonce.internal.jdbc.FailureTrace;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All observers; what one throws is logged, and the others hear the event all the same. */
public record SafeObserver(List<Observer> observers) implements Observer {

  private static final Logger LOG = LoggerFactory.getLogger(SafeObserver.class);

  @Override
  public void on(Event event) {
    for (var observer : observers) {
      try {
        observer.on(event);
      } catch (Throwable thrown) {
        // Errors, too: what is committed stays so, whatever it says.
        LOG.warn(
            "pgonce: the observer {} threw ({}); fix it, nothing else is affected",
            observer.getClass().getName(),
            Failures.inWords(thrown),
            FailureTrace.of(thrown));
      }
    }
  }
}
