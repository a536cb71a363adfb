package org.pgonce.spring.internal;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.spring.PgOnceProperties;
import org.pgonce.spring.PgOnceProperties.StartFailure;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.SmartLifecycle;

/** Listens. Starts last and stops first, and as often as the context does. */
public final class PgOnceLifecycle implements SmartLifecycle, DisposableBean {

  private final PgOnce pgonce;
  private final PgOnceInstallation installation;
  private final Registrar listeners;
  private final PgOnceProperties properties;
  private final Duration stopTimeout;
  private final ReentrantLock lock = new ReentrantLock();
  private final Steps steps = new Steps();
  private volatile boolean running;
  private volatile @Nullable String failure;
  private @Nullable RetriedStart retrying;
  private @Nullable KeepAlive keepAlive;

  PgOnceLifecycle(
      PgOnce pgonce,
      PgOnceInstallation installation,
      Registrar listeners,
      PgOnceProperties properties,
      Duration stopTimeout) {
    this.pgonce = pgonce;
    this.installation = installation;
    this.listeners = listeners;
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
        retrying = new RetriedStart(steps, retrying);
        retrying.start();
      } else {
        steps.install();
        steps.listen();
      }
      if (properties.autoStartup() && listeners.areThere()) {
        keepAlive = new KeepAlive();
        keepAlive.start();
      }
      running = true;
    } finally {
      lock.unlock();
    }
  }

  private final class Steps implements RetriedStart.Steps {

    @Override
    public void install() {
      installation.installOnce();
    }

    @Override
    public void listen() {
      if (properties.autoStartup()) {
        pgonce.start();
      }
    }

    @Override
    public void ended(@Nullable String reason) {
      failure = reason;
    }

    @Override
    public void stop() throws InterruptedException {
      pgonce.stop(Duration.ZERO);
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
    var isAsTold = properties.autoStartup() ? status.state() == Status.State.RUNNING : running;
    return new Health(isAsTold && failure == null, details);
  }

  private static void put(Map<String, Object> details, String name, @Nullable String value) {
    if (value != null) {
      details.put(name, value);
    }
  }

  /** Takes the stop timeout, and 6 s more at most. */
  @Override
  public void stop() {
    lock.lock();
    try {
      if (retrying != null) {
        retrying.cancel();
      }
      pgonce.stop(stopTimeout);
      if (retrying != null) {
        retrying.awaitEnd();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      if (keepAlive != null) {
        keepAlive.end();
        keepAlive = null;
      }
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

  /** Stops if nothing has: Spring 6 does not stop a context whose refresh fails at its end. */
  @Override
  public void destroy() {
    if (running) {
      stop();
    }
  }

  @Override
  public boolean isRunning() {
    return running;
  }
}
