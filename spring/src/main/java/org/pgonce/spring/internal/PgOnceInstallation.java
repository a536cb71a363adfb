package org.pgonce.spring.internal;

import org.pgonce.PgOnce;
import org.pgonce.spring.PgOnceProperties;
import org.pgonce.spring.PgOnceProperties.StartFailure;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Installs or checks before the service can write, with each start of the context: a row that is
 * written before its trigger is there is never stored. It comes before the web server, before
 * message listeners and before every other SmartLifecycle of a later phase.
 */
final class PgOnceInstallation implements SmartLifecycle {

  private static final Logger LOG = LoggerFactory.getLogger(PgOnceInstallation.class);

  /** Behind phase 0, where Boot resumes a pool that a stopped context has suspended. */
  private static final int PHASE = 1;

  private final PgOnce pgonce;
  private final Channels channels;
  private final PgOnceProperties properties;
  private volatile boolean running;
  private volatile boolean done;

  PgOnceInstallation(PgOnce pgonce, Channels channels, PgOnceProperties properties) {
    this.pgonce = pgonce;
    this.channels = channels;
    this.properties = properties;
  }

  @Override
  public void start() {
    try {
      installOnce();
    } catch (RuntimeException | Error e) { // a class that is missing may be there next time
      if (properties.startFailure() == StartFailure.FAIL) {
        throw e;
      }
      LOG.warn(
          "pgonce: could not install before the service writes, and tries again: {}",
          e.getMessage(),
          e instanceof Error ? e : null);
    }
    running = true;
  }

  /** Once for each start of the context: what has failed is tried again, what was done is not. */
  void installOnce() {
    if (done) {
      return;
    }
    switch (properties.install()) {
      case ALWAYS -> pgonce.install(channels.toArray());
      case VALIDATE -> pgonce.check(channels.toArray());
      case NEVER -> {}
    }
    done = true;
  }

  @Override
  public void stop() {
    done = false;
    running = false;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }
}
