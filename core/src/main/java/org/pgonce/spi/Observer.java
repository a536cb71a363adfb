package org.pgonce.spi;

/**
 * Hears what happens, for metrics and alarms.
 *
 * <p>Called on pgonce's threads, or on that of a publisher, several at once, between a notification
 * and the next: it must be quick and must not throw (what it throws is logged).
 */
@FunctionalInterface
public interface Observer {

  /** Hears nothing. */
  Observer NONE = event -> {};

  /** Something happened. */
  void on(Event event);
}
