package org.pgonce.spring.internal;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.pgonce.PgOnce;
import org.pgonce.UnreachableException;
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

  // PgOnceBuilder's default.
  private static final Duration START_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration BETWEEN_TRIES = Duration.ofMillis(500);

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
    if (properties.startFailure() == StartFailure.FAIL) {
      installInTime();
    } else {
      tryToInstall();
    }
    running = true;
  }

  /** As PgOnce.start does, while the database cannot be reached. */
  private void installInTime() {
    var timeout = properties.startTimeout() == null ? START_TIMEOUT : properties.startTimeout();
    var end = System.nanoTime() + timeout.toNanos();
    var done = false;
    while (!done) {
      try {
        installOnce();
        done = true;
      } catch (UnreachableException e) {
        var left = end - System.nanoTime();
        if (left < 0 || isInterrupted()) {
          throw e;
        }
        LOG.warn(
            "{}; it is tried again for up to {} ms",
            e.getMessage(),
            TimeUnit.NANOSECONDS.toMillis(left));
      }
    }
  }

  /** Waits a moment; true where that is interrupted. */
  private static boolean isInterrupted() {
    try {
      Thread.sleep(BETWEEN_TRIES.toMillis());
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    }
  }

  private void tryToInstall() {
    try {
      installOnce();
    } catch (RuntimeException | Error e) { // a class that is missing may be there next time
      LOG.warn(
          "pgonce: could not install before the service writes, and tries again: {}",
          e.getMessage(),
          e instanceof Error ? e : null);
    }
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
