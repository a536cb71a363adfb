package org.pgonce.internal.context;

import java.time.Duration;
import org.pgonce.internal.concurrent.Throttle;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells of what cannot be asked of the database, and is tried again within a second: the observer
 * each time, the log now and then. Thread-safe.
 */
public final class RepeatedTrouble {

  private static final Logger LOG = LoggerFactory.getLogger(RepeatedTrouble.class);

  private static final Duration BETWEEN_WARNINGS = Duration.ofSeconds(10);

  private final String what;
  private final String channel;
  private final Observer observer;
  private final Throttle warnings = new Throttle(BETWEEN_WARNINGS);

  /**
   * @param what has failed, in words for the log
   * @param channel whose trouble it is; empty if it is that of all
   */
  public RepeatedTrouble(String what, String channel, Observer observer) {
    this.what = what;
    this.channel = channel;
    this.observer = observer;
  }

  public void tell(Throwable failure) {
    var reason = Failures.inWords(failure);
    if (warnings.permits()) {
      LOG.warn(
          "pgonce: {}: {}; it is tried again within a second, nothing is lost, and this is said once in {} s at the most. If it goes on, look whether"
              + " the server can be reached, whether its disk is full, who locks tables of schema pgonce (pg_locks), and whether the role has lost rights",
          what,
          reason,
          BETWEEN_WARNINGS.toSeconds());
    }
    LOG.debug("pgonce: the trouble in full", failure);
    observer.on(new Event.DatabaseTrouble(channel, reason));
  }
}
