package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.ListenerIdentity;
import org.pgonce.internal.claim.ScanStatements;
import org.pgonce.internal.claim.ScanStatements.Found;
import org.pgonce.internal.claim.ScanStatements.HearsBy;
import org.pgonce.internal.listen.ListenStatus;
import org.pgonce.internal.settle.Failures;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What correctness rests on: looks for work that no wake-up announced, and whether the channels are
 * still what they were, for all subscriptions of the process in one statement. It runs right after
 * every (re)LISTEN, when the next row is due, and at a slow interval. One scan at a time; requests
 * meanwhile are folded into the next. Whatever else is to be done now and then comes behind its
 * answer, in transactions of its own: the listener's sign of life, and the {@link Housekeeping}.
 */
final class Scan {

  private static final Logger LOG = LoggerFactory.getLogger(Scan.class);

  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final long DEAF_INTERVAL_MS = 1_000;

  /**
   * While something waits, whoever has it at work may die, and then nobody tells that it is free
   * again.
   */
  static final Duration WHILE_SOMETHING_WAITS = Duration.ofSeconds(1);

  private static final Duration LONGEST_TROUBLE = Duration.ofSeconds(1);

  private final Context context;
  private final ListenerIdentity identity;
  private final Supplier<ListenStatus> hearing;
  private final Sessions sessions;
  private final Housekeeping housekeeping;
  private final QueueWatch queue;
  private volatile List<Scanned> scanned = List.of();

  private volatile boolean started;
  private volatile boolean registered;
  private final AtomicLong begun = new AtomicLong();
  private int troubles;
  private final OneAtATime scans;

  Scan(
      Context context,
      ListenerIdentity identity,
      Supplier<ListenStatus> hearing,
      Sessions sessions) {
    this.context = context;
    this.identity = identity;
    this.hearing = hearing;
    this.sessions = sessions;
    this.housekeeping = new Housekeeping(context, identity.id(), sessions);
    this.queue = new QueueWatch(context.observer());
    this.scans =
        new OneAtATime(
            context.threads()::runLater, new ReentrantLock(), this::take, Scan::delayAfter);
  }

  void start(Collection<Scanned> toAskFor) {
    scanned = List.copyOf(toAskFor);
    started = true;
    within(Duration.ZERO);
  }

  /**
   * Sees to it that a scan begins within the given time; the first one begins with the start.
   * Returns at once; safe on any thread.
   */
  void within(Duration delay) {
    if (started) {
      scans.within(delay);
    }
  }

  /** How many scans have begun: what is heard now, only a later one has seen. */
  long begun() {
    return begun.get();
  }

  /** No scan begins from now on. Returns at once. */
  void stop() {
    scans.stop();
    housekeeping.stop();
  }

  /**
   * Leaves wake-ups to the others from now on: until its last handler has ended, this process is on
   * the list still. Waits for the database.
   */
  void hearsNoMore() {
    if (!registered) {
      return;
    }
    try {
      context.transactions().make(same -> ScanStatements.hearsNoMore(same, identity.id()));
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      LOG.debug("pgonce: the others could not be told that this listener stops", e);
    }
  }

  /**
   * Waits for the scan under way, which may be about to register this process, and then takes it
   * off the list of listeners. To be called after {@link #stop}; waits for the database.
   *
   * @param end by System.nanoTime(): how long it waits for the scan
   */
  void unregister(long end) throws InterruptedException {
    scans.awaitEnd(end);
    if (!registered) {
      return;
    }
    try {
      var unused =
          context
              .transactions()
              .runBounded(
                  connection -> {
                    ScanStatements.unregister(connection, identity.id());
                    return true;
                  });
    } catch (SQLException e) {
      LOG.debug(
          "pgonce: the listener could not take itself off the list; the others will when its silence is over",
          e);
    }
  }

  private Duration take() {
    begun.incrementAndGet();
    try {
      var delay = scan();
      troubles = 0;
      return delay;
    } catch (SQLException e) {
      return trouble(e);
    }
  }

  private static Duration delayAfter(@Nullable Duration returned, boolean again) {
    if (again) {
      return Duration.ZERO;
    }
    return returned == null ? LONGEST_TROUBLE : returned;
  }

  /** Tells each what was found of it; returns the time until the next scan. */
  private Duration scan() throws SQLException {
    if (!registered) {
      // By itself: until it is committed, who is awake waits.
      var unused =
          context.transactions().run(same -> sessions.within(TIMEOUT, same, this::register));
    }
    var delay =
        tell(
            context
                .transactions()
                .run(connection -> sessions.within(TIMEOUT, connection, this::scan)));
    var hearsOtherwise = giveSignOfLife();
    housekeeping.scanned();
    // By how it hears it may be the first of a subscription, or not be it any more.
    return hearsOtherwise ? Duration.ZERO : delay;
  }

  /** Behind the answer, and apart from it: a lock on the list keeps no notification waiting. */
  private boolean giveSignOfLife() {
    try {
      return context
          .transactions()
          .run(
              connection ->
                  sessions.within(
                      TIMEOUT,
                      connection,
                      same -> ScanStatements.seen(same, identity.id(), hearsBy())));
    } catch (SQLException | RuntimeException e) {
      housekeeping.failed("sign of life", e);
      return false;
    }
  }

  private boolean register(Connection connection) throws SQLException {
    ScanStatements.register(
        connection, identity, scanned.stream().map(Scanned::subscription).toList(), hearsBy());
    registered = true; // or not, if the commit fails: then the scan says so
    return registered;
  }

  private List<Found> scan(Connection connection) throws SQLException {
    try {
      return ScanStatements.scan(connection, identity.id());
    } catch (SQLException e) {
      registered &= !ScanStatements.NOT_REGISTERED.equals(e.getSQLState());
      throw e;
    }
  }

  private HearsBy hearsBy() {
    var status = hearing.get();
    var session = status.session();
    return new HearsBy(status.source(), session == null ? null : session.backendPid());
  }

  private Duration tell(List<Found> found) {
    // While nothing is heard, the scan is all there is.
    var interval =
        Math.min(
            identity.pollInterval().toMillis(),
            hearing.get().listening() ? Long.MAX_VALUE : DEAF_INTERVAL_MS);
    // Jitter, so that processes started together do not scan together.
    var delay = ThreadLocalRandom.current().nextLong(interval * 7 / 8, interval * 9 / 8 + 1);
    found.stream().findFirst().ifPresent(any -> queue.found(any.queueUsage()));
    for (var work : found) {
      scanned.stream()
          .filter(one -> one.subscription() == work.subscription())
          .forEach(one -> one.told(work, begun.get()));
      if (work.ready()) {
        delay = Math.min(delay, WHILE_SOMETHING_WAITS.toMillis());
      }
      if (work.dueInMs() != null) {
        delay = Math.min(delay, Math.max(1, work.dueInMs()));
      }
    }
    return Duration.ofMillis(delay);
  }

  private Duration trouble(SQLException e) {
    var reason = Failures.inWords(e);
    LOG.warn("pgonce: the scan for work failed: {}; it is tried again within a second", reason);
    LOG.debug("pgonce: the trouble in full", e);
    context.observer().databaseTrouble("", reason);
    troubles = Math.min(troubles + 1, 6);
    var longest = Math.min(25L << troubles, LONGEST_TROUBLE.toMillis());
    return Duration.ofMillis(ThreadLocalRandom.current().nextLong(longest / 2, longest + 1));
  }
}
