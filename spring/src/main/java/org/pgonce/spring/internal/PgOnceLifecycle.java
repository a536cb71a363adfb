package org.pgonce.spring.internal;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spring.PgOnceProperties;
import org.pgonce.spring.PgOnceProperties.StartFailure;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Installs and starts when the context is ready, so behind Flyway and Liquibase, which run while
 * beans are made. Starts last and stops first, and as often as the context does.
 */
public final class PgOnceLifecycle implements SmartLifecycle {

  private static final Logger LOG = LoggerFactory.getLogger(PgOnceLifecycle.class);
  private static final Backoff BETWEEN_STARTS =
      new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(30));

  private final PgOnce pgonce;
  private final Channels channels;
  private final PgOnceProperties properties;
  private final Duration stopTimeout;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean running;
  private volatile @Nullable String failure;
  private @Nullable Thread retrying;

  PgOnceLifecycle(
      PgOnce pgonce, Channels channels, PgOnceProperties properties, Duration stopTimeout) {
    this.pgonce = pgonce;
    this.channels = channels;
    this.properties = properties;
    this.stopTimeout = stopTimeout;
  }

  @Override
  public void start() {
    lock.lock();
    try {
      if (running) {
        return;
      }
      failure = null;
      if (properties.startFailure() == StartFailure.RETRY) {
        failure = "it has not started yet";
        retrying = new Thread(this::startUntilItWorks, "pgonce-start");
        retrying.setDaemon(true);
        retrying.start();
      } else {
        startOnce();
      }
      running = true;
    } finally {
      lock.unlock();
    }
  }

  private void startOnce() {
    switch (properties.install()) {
      case ALWAYS -> pgonce.install(channels.toArray());
      case VALIDATE -> pgonce.check(channels.toArray());
      case NEVER -> {}
    }
    pgonce.start();
  }

  private void startUntilItWorks() {
    for (var tries = 1; !Thread.currentThread().isInterrupted(); tries++) {
      try {
        startOnce();
        failure = null;
        return;
      } catch (RuntimeException e) {
        failure = e.getMessage();
        var pause = BETWEEN_STARTS.after(tries);
        LOG.warn(
            "pgonce: could not start, and tries again in {} ms: {}",
            pause.toMillis(),
            e.getMessage());
        try {
          Thread.sleep(pause.toMillis());
        } catch (InterruptedException stopped) {
          return;
        }
      }
    }
  }

  /**
   * As a health indicator says it.
   *
   * @param up false where nothing is listened to
   */
  public record Health(boolean up, Map<String, Object> details) {}

  /** UP also while LISTEN is disconnected: then polling goes on. Without asking the database. */
  public Health health() {
    var status = pgonce.status();
    var details = new LinkedHashMap<String, Object>();
    details.put("state", status.state().name());
    put(details, "failure", failure);
    put(details, "listensBy", status.listensBy());
    put(details, "listenFailure", status.listenFailure());
    for (var channel : status.channels()) {
      var name = channel.channel() + "/" + channel.subscription();
      put(details, name, channel.outdated());
      if (channel.paused() != null) {
        put(details, name, "paused by " + channel.paused().by() + ": " + channel.paused().reason());
      }
    }
    return new Health(status.state() == Status.State.RUNNING, details);
  }

  private static void put(Map<String, Object> details, String name, @Nullable String value) {
    if (value != null) {
      details.put(name, value);
    }
  }

  @Override
  public void stop() {
    lock.lock();
    try {
      if (retrying != null) {
        retrying.interrupt();
      }
      pgonce.stop(stopTimeout);
      if (retrying != null) {
        retrying.join(stopTimeout.toMillis());
        retrying = null;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      running = false;
      lock.unlock();
    }
  }

  /** Beside the others of its phase, whose time runs meanwhile. */
  @Override
  public void stop(Runnable stopped) {
    var stopping =
        new Thread(
            () -> {
              try {
                stop();
              } finally {
                stopped.run();
              }
            },
            "pgonce-stop");
    stopping.start();
  }

  @Override
  public boolean isRunning() {
    return running;
  }
}
