package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.wakeup.AddressLookup.Found;
import org.pgonce.internal.wakeup.AddressLookup.Unknown;
import org.pgonce.internal.wakeup.Deafness.Kind;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The loop of {@link Hearing}: connect, keep, wait, again. One thread runs it. */
final class Supervisor {

  private static final Logger log = LoggerFactory.getLogger(Hearing.class);

  private final Connecting connecting;
  private final Supplier<AddressLookup> lookup;
  private final HearingConfig config;
  private final Hearing.Sink sink;
  private final ConnectBackoff backoff;
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private volatile HearingStatus status = HearingStatus.BEFORE_FIRST_ATTEMPT;
  private volatile boolean open = true;
  private boolean everListened;

  Supervisor(
      Connecting connecting,
      Supplier<AddressLookup> lookup,
      HearingConfig config,
      Hearing.Sink sink) {
    this.connecting = connecting;
    this.lookup = lookup;
    this.config = config;
    this.sink = sink;
    this.backoff = new ConnectBackoff(config);
  }

  HearingStatus status() {
    return status;
  }

  void awaitFirstAttempt(Duration bound) throws InterruptedException {
    firstAttempt.await(bound.toNanos(), TimeUnit.NANOSECONDS);
  }

  void run() {
    try {
      while (open) {
        var deafness = listenWhilePossible();
        if (!open) {
          break;
        }
        becomeDeaf(deafness);
        firstAttempt.countDown();
        if (deafness.kind() == Kind.POLLING) {
          return;
        }
        TimeUnit.NANOSECONDS.sleep(backoff.next(deafness.kind()).toNanos());
      }
    } catch (InterruptedException e) {
      log.trace("closed", e); // close() interrupts: there is nobody above to tell
    } finally {
      connecting.close();
      firstAttempt.countDown();
      if (!open) {
        status = status.deaf(new Deafness(Kind.CLOSED, "hearing is closed"), connecting.failures());
      }
    }
  }

  /** Lets go of everything; the loop ends as soon as its thread is interrupted. */
  void close() {
    open = false;
    connecting.close();
  }

  private Deafness listenWhilePossible() throws InterruptedException {
    try {
      var address = lookup.get();
      if (address instanceof Unknown unknown) {
        return new Deafness(Kind.POLLING, unknown.reason());
      }
      var session = connecting.connect(((Found) address).addresses());
      try {
        becomeListening(session);
        return keep(session);
      } finally {
        session.close();
      }
    } catch (Deafness.Found e) {
      return e.deafness();
    } catch (RuntimeException | Error e) { // whatever it is, it must not end the thread unseen
      log.error("hearing failed unexpectedly; it is tried again", e);
      return new Deafness(Kind.FAILED, "hearing failed unexpectedly: " + e);
    }
  }

  private Deafness keep(HearingSession session) throws InterruptedException {
    while (open) {
      var lost = session.awaitLoss(config.heartbeat());
      if (lost != null) {
        return Diagnosis.lost(session.address(), lost);
      }
      try {
        long echo = session.beat(config.echoDeadline());
        if (echo < 0) {
          return Diagnosis.silent(session.address(), config.echoDeadline());
        }
        backoff.reset(); // not before: one that dies right after LISTEN must not be a hot loop
        status = status.echo(echo);
      } catch (SQLException e) {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        return Diagnosis.lost(session.address(), e.getMessage());
      }
    }
    return new Deafness(Kind.CLOSED, "hearing is closed");
  }

  private void becomeListening(HearingSession session) {
    var described = session.describe();
    status =
        new HearingStatus(
            described, null, connecting.failures(), everListened ? status.reconnects() + 1 : 0);
    everListened = true;
    log.info(
        "listening at {} through {} (backend {}){}",
        described.address(),
        described.source(),
        described.backendPid(),
        connecting.failures().isEmpty() ? "" : "; not through " + connecting.failures());
    sink.listening();
    firstAttempt.countDown();
  }

  private void becomeDeaf(Deafness deafness) {
    @Nullable Deafness before = status.deafness();
    status = status.deaf(deafness, connecting.failures());
    if (deafness.equals(before)) {
      log.debug("still {}", deafness.reason());
      return;
    }
    if (deafness.kind() == Kind.POLLING) {
      log.info("polling only: {}", deafness.reason());
    } else {
      log.warn("{}; polling meanwhile", deafness.reason());
    }
    sink.deaf(deafness);
  }
}
