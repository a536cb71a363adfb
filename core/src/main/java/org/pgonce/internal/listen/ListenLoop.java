package org.pgonce.internal.listen;

import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Connects, listens until that fails, waits, and begins anew. One thread runs it. */
final class ListenLoop {

  private static final Logger log = LoggerFactory.getLogger(NotificationListener.class);

  private final SourceOrder sources;
  private final AddressLookup addresses;
  private final ListenConfig config;
  private final Set<String> channels;
  private final NotificationListener.Callback callback;
  // Nobody else's: an echo that another process could cause would prove nothing.
  private final String ownChannel = "pgonce_self_" + randomHex();
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private volatile ListenStatus status = ListenStatus.BEFORE_FIRST_ATTEMPT;
  private volatile boolean open = true;
  private volatile @Nullable ListenSession current;
  private int failures;
  private boolean everListened;

  ListenLoop(
      List<WakeUpSource> sources,
      AddressLookup addresses,
      ListenConfig config,
      Set<String> channels,
      NotificationListener.Callback callback) {
    this.sources = new SourceOrder(sources);
    this.addresses = addresses;
    this.config = config;
    this.channels = Set.copyOf(channels);
    this.callback = callback;
  }

  ListenStatus status() {
    return status;
  }

  void awaitFirstAttempt(Duration bound) throws InterruptedException {
    firstAttempt.await(bound.toNanos(), TimeUnit.NANOSECONDS);
  }

  void run() {
    try {
      while (open) {
        var failure = listen();
        if (!open) {
          break;
        }
        disconnected(failure);
        firstAttempt.countDown();
        if (failure.kind() == Kind.POLLING) {
          return;
        }
        Thread.sleep(failure.kind().backoff(config.backoff()).after(++failures).toMillis());
      }
    } catch (InterruptedException e) {
      log.trace("closed", e); // close() interrupts: there is nobody above to tell
    } finally {
      closeSession();
      if (!open) {
        status = disconnectedBy(ListenFailure.polling("the listener is closed"));
      }
      firstAttempt.countDown();
    }
  }

  /** Lets go of everything; the loop ends as soon as its thread is interrupted. For any thread. */
  void close() {
    open = false;
    closeSession();
  }

  private void closeSession() {
    var session = current;
    if (session != null) {
      session.close();
    }
  }

  /** Returns why listening ended, or did not begin. */
  private ListenFailure listen() throws InterruptedException {
    try (var session = connect()) {
      listening(session);
      while (true) {
        session.await(config.heartbeat());
        session.heartbeat(config.echoTimeout());
        failures = 0; // not before: one that dies right after LISTEN must not be a hot loop
      }
    } catch (ListenFailure e) {
      return e;
    } catch (RuntimeException | Error e) { // whatever it is, it must not end the thread unseen
      log.error("listening failed unexpectedly; it is tried again", e);
      return ListenFailure.unexpected(e);
    }
  }

  /** One round over the addresses, until a session listens. */
  private ListenSession connect() throws ListenFailure {
    List<ListenFailure> reasons = new ArrayList<>();
    for (var address : addresses.find()) {
      try {
        return connect(address);
      } catch (ListenFailure e) {
        reasons.add(e);
      }
    }
    throw ListenFailure.together(reasons);
  }

  private ListenSession connect(ListenAddress address) throws ListenFailure {
    var reason = ListenFailure.polling("the listener is closed");
    for (var source : sources.usable()) {
      var session = new ListenSession(source, address, ownChannel, channels, callback);
      current = session;
      if (!open) {
        break;
      }
      try {
        session.open(config);
        sources.connected(source);
        return session;
      } catch (ListenFailure e) {
        session.close();
        reason = e;
        if (session.connected()) {
          sources.connected(source); // the reason lies behind it
          break;
        }
        if (!sources.failed(source, e)) {
          break;
        }
      }
    }
    throw reason;
  }

  private void listening(ListenSession session) {
    var described = session.describe();
    var failed = sources.failures();
    status = new ListenStatus(described, null, failed, everListened ? status.reconnects() + 1 : 0);
    everListened = true;
    log.info(
        "listening at {} through {} (backend {}){}",
        described.address(),
        described.source(),
        described.backendPid(),
        failed.isEmpty() ? "" : "; not through " + failed);
    callback.listening();
    firstAttempt.countDown();
  }

  private void disconnected(ListenFailure failure) {
    var before = status.failure();
    status = disconnectedBy(failure);
    if (before != null && failure.reason().equals(before.reason())) {
      log.debug("still {}", failure.reason());
      return;
    }
    log.atLevel(sources.isEmpty() ? Level.INFO : Level.WARN)
        .log("{}; notifications are found by polling, so up to a second later", failure.reason());
    callback.disconnected(failure);
  }

  private ListenStatus disconnectedBy(ListenFailure failure) {
    return new ListenStatus(null, failure, sources.failures(), status.reconnects());
  }

  private static String randomHex() {
    var bytes = new byte[8];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }
}
