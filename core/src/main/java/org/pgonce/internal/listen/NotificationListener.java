package org.pgonce.internal.listen;

import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Keeps one LISTEN connection for a process: connects, proves by a NOTIFY to itself that
 * notifications arrive, notices when they no longer do, and connects again. Without an address or a
 * source it says so and ends: the owner polls anyway.
 *
 * <p>Safe for use by several threads. One daemon thread runs the loop and owns the session.
 */
public final class NotificationListener implements AutoCloseable {

  /** What it throws is logged, and listening goes on. */
  public interface Callback {

    /**
     * A NOTIFY on one of the channels: only a hint, it can be lost, folded or forged. Called on the
     * driver's thread: must return at once, never query, never block.
     */
    void notified(String channel, String payload);

    /**
     * From now on wake-ups arrive. Called each time that LISTEN (again) succeeded and proved
     * itself: what was committed before is found by a poll now.
     */
    void listening();

    /** No wake-up arrives. Called when that begins, and when the reason changes. */
    void disconnected(ListenFailure failure);
  }

  private static final Duration CLOSE_BOUND = Duration.ofSeconds(3);
  private static final Logger LOG = LoggerFactory.getLogger(NotificationListener.class);

  private final List<WakeUpSource> sources;
  private final ListenAddresses.Lookup addresses;
  private final ListenConfig config;
  private final Set<String> channels;
  private final Callback callback;
  private final Thread thread = Threads.daemon("pgonce-listen", this::run);
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private volatile ListenStatus status = ListenStatus.BEFORE_FIRST_ATTEMPT;
  private volatile boolean open = true;
  // Of the thread.
  private int failures;
  private int poolers;
  private long sessions;
  // Could not connect. Where another source did, they are left out until none connects: pgjdbc-ng
  // 0.8.9 leaks what it could not finish.
  private Map<String, String> failedSources = Map.of();
  private boolean hasConnected;

  /**
   * @param sources in the order in which they are tried; empty for polling only
   * @param channels PostgreSQL channel names, to the letter; 63 bytes at most, as LISTEN cuts a
   *     longer one
   */
  public NotificationListener(
      List<WakeUpSource> sources,
      ListenAddresses.Lookup addresses,
      ListenConfig config,
      Set<String> channels,
      Callback callback) {
    this.sources = List.copyOf(sources);
    this.addresses = addresses;
    this.config = config;
    this.channels = Set.copyOf(channels);
    this.callback = callback;
  }

  /** Begins to listen, in the background. May be called once. */
  public void start() {
    if (!open || thread.getState() != Thread.State.NEW) {
      throw new IllegalStateException("the listener was started or closed before; make a new one");
    }
    thread.start();
  }

  /**
   * Waits for the first attempt to end, well or badly: with it a wrong password or database shows
   * at start.
   *
   * @return the status then, or when the bound has passed
   */
  public ListenStatus awaitFirstAttempt(Duration bound) throws InterruptedException {
    firstAttempt.await(bound.toNanos(), TimeUnit.NANOSECONDS);
    return status;
  }

  /** Never waits. */
  public ListenStatus status() {
    return status;
  }

  /**
   * Ends the connection and the thread. Returns within 3 s even if the peer is frozen; idempotent.
   */
  @Override
  public void close() {
    open = false;
    if (Thread.currentThread() == thread) {
      return;
    }
    thread.interrupt();
    try {
      thread.join(CLOSE_BOUND.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      while (open) {
        var failure = listen();
        if (open) {
          disconnected(failure);
          firstAttempt.countDown();
          if (failure.kind() == Kind.POLLING) {
            return;
          }
          rest(failure.kind());
        }
      }
    } finally {
      if (!open) {
        status = disconnectedBy(ListenFailure.polling("the listener is closed"));
      }
      firstAttempt.countDown();
    }
  }

  private void rest(Kind kind) {
    // An observer may leave an interrupt, which ends neither listening nor the rest. What close()
    // interrupts is not open any more.
    if (Thread.interrupted() && !open) {
      return;
    }
    try {
      Thread.sleep(waitAfter(kind).toMillis());
    } catch (InterruptedException e) {
      LOG.trace("rested less", e);
    }
  }

  /** A single NOTIFY that was late after an outage must not be taken for a pooler that stays. */
  private Duration waitAfter(Kind kind) {
    return kind.backoff().after(kind == Kind.POOLER ? ++poolers : ++failures);
  }

  /** Returns why listening ended, or did not begin. */
  private ListenFailure listen() {
    try (var session = connect()) {
      listening(session);
      while (open) {
        session.heartbeat();
        // Not before: one that dies right after LISTEN must not be a hot loop.
        failures = 0;
        poolers = 0;
      }
      return ListenFailure.polling("the listener is closed");
    } catch (InterruptedException e) {
      return new ListenFailure(Kind.FAILED, "somebody interrupted the thread that listens", e);
    } catch (ListenFailure e) {
      return e;
    } catch (RuntimeException | Error e) { // the thread must not end without a word
      LOG.error("listening failed unexpectedly; it is tried again", e);
      return new ListenFailure(Kind.FAILED, "listening failed unexpectedly: " + e, e);
    }
  }

  /** Tries each address until a session listens. */
  private ListenSession connect() throws ListenFailure, InterruptedException {
    if (sources.isEmpty()) {
      throw ListenFailure.polling("no wake-up source is configured");
    }
    List<ListenFailure> reasons = new ArrayList<>();
    for (var address : addresses.find()) {
      try {
        var session = connect(address);
        try {
          session.listen(channels);
          return session;
        } catch (Throwable e) {
          session.close();
          throw e;
        }
      } catch (ListenFailure e) {
        reasons.add(e);
      }
    }
    throw ListenFailure.together(reasons);
  }

  /** Tries each source until one connects, or the host is found to be silent. */
  private ListenSession connect(ListenAddress address) throws ListenFailure {
    List<ListenFailure> reasons = new ArrayList<>();
    var failed = hasConnected ? new HashMap<>(failedSources) : new HashMap<String, String>();
    var usable = sources.stream().filter(one -> !failed.containsKey(one.name())).toList();
    failedSources = failed;
    hasConnected = false;
    var passedOver = new HashMap<String, String>();
    for (var source : usable) {
      try {
        var session = new ListenSession(source, address, config, callback::notified);
        hasConnected = true;
        if (!passedOver.isEmpty()) {
          LOG.info(
              "not through {} this time; it is tried again with the next connection", passedOver);
        }
        return session;
      } catch (ListenFailure e) {
        reasons.add(e);
        if (e.getCause() instanceof SQLTransientConnectionException) {
          break; // nothing answers there, whoever asks
        }
        (e.kind() == Kind.UNREACHABLE ? passedOver : failed).put(source.name(), e.reason());
      }
    }
    throw ListenFailure.together(reasons);
  }

  private void listening(ListenSession session) {
    var described = session.describe();
    status = new ListenStatus(described, null, failedSources, sessions++);
    LOG.info(
        "listening at {} through {} (backend {}){}",
        described.address(),
        described.source(),
        described.backendPid(),
        failedSources.isEmpty() ? "" : "; not through " + failedSources);
    guarded(callback::listening);
    firstAttempt.countDown();
  }

  private void disconnected(ListenFailure failure) {
    var before = status.failure();
    status = disconnectedBy(failure);
    if (before != null && failure.reason().equals(before.reason())) {
      LOG.debug("still {}", failure.reason());
      return;
    }
    LOG.atLevel(sources.isEmpty() ? Level.INFO : Level.WARN)
        .log("{}; notifications are found by polling, so up to a second later", failure.reason());
    guarded(() -> callback.disconnected(failure));
  }

  private ListenStatus disconnectedBy(ListenFailure failure) {
    return new ListenStatus(null, failure, failedSources, status.reconnects());
  }

  /** What the owner throws must not end the thread that it is called on. */
  static void guarded(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException | Error e) {
      LOG.error("a callback of the listener threw; listening goes on", e);
    }
  }
}
