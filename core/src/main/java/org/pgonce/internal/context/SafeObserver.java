package org.pgonce.internal.context;

import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs what an observer throws. */
public record SafeObserver(Observer observer) implements Observer {

  private static final Logger LOG = LoggerFactory.getLogger(SafeObserver.class);

  /** None stays none: its events need not be made. */
  public static Observer over(Observer observer) {
    return observer == NONE ? NONE : new SafeObserver(observer);
  }

  @Override
  public void on(Event event) {
    try {
      observer.on(event);
    } catch (Throwable thrown) {
      // Errors, too: what is committed stays so, whatever it says.
      LOG.warn("pgonce: the observer threw; it is to be mended, nothing else is affected", thrown);
    }
  }
}
