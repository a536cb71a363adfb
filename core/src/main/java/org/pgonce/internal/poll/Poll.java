package org.pgonce.internal.poll;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.pgonce.Backoff;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.concurrent.Throttle;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.context.RepeatedTrouble;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.listen.ListenStatus;
import org.pgonce.internal.store.Installed;
import org.pgonce.spi.Event;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What correctness rests on: one statement for all subscriptions of the process finds the rows that
 * no wake-up announced, as its NOTIFY was lost, and whether the channels are still what they were.
 * {@link PollTarget#polled}, of {@code SubscriptionConsumer}, has such rows claimed. It runs right
 * after every (re)LISTEN, when the next row is due, and once a second by default. Only one poll
 * runs at a time; requests meanwhile are folded into the next. Heartbeat and {@link Housekeeping}
 * come behind an answer, by default each 10 s and each 150 s, in transactions of their own.
 */
public final class Poll {

  private static final Logger LOG = LoggerFactory.getLogger(Poll.class);

  // Shortest time between two polls.
  private static final long LEAST_BETWEEN_NANOS = Duration.ofMillis(50).toNanos();

  // While nothing is heard the poll is all there is, and while a row waits its holder may die.
  private static final Duration LONGEST_WHILE_NEEDED = Duration.ofSeconds(1);

  // Where dead index entries make a poll of all rows slow, it gets a twentieth of the time: until
  // the next one no poll sees what a dead process left before the cursor. The quicker of two in a
  // row counts, since one may have waited for a processor. Where both took more than a second, the
  // next one comes in 20 s.
  private static final int SHARE_OF_WHOLE = 20;
  private static final long SLOWEST_WHOLE_NANOS = Duration.ofSeconds(1).toNanos();

  private static final double QUEUE_WARNING = 0.05;
  private static final Duration BETWEEN_WARNINGS = Duration.ofMinutes(1);

  // Arrays travel as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9. The rest does so
  // as well, to be bound in one way.
  private static final String POLL =
      """
      SELECT i.ready, i.due, i.due_in_ms, i.paused_us, i.paused_by, i.pause_reason, i.queue_usage, i.gate_unfit, i.gate_open, i.listeners, i.rank, %s
        FROM pgonce.poll(?::text::uuid, ?::text::bigint[]) AS i
      """
          .formatted(Installed.COLUMNS);
  private static final String NOT_REGISTERED = "PO002";

  // A writer that read an open gate may commit when that is closed, or when the process that opened
  // it is dead.
  private static final Duration FAST_BEHIND_A_GATE = Duration.ofSeconds(5);
  private static final long LONGEST_WHILE_FAST_MS = 300;
  // Rows that are due one by one cost a hundred polls a second at most.
  private static final long LEAST_BEFORE_DUE_MS = 10;

  private static final Backoff RETRY = new Backoff(Duration.ofMillis(50), Duration.ofSeconds(1));

  private final ListenerContext context;
  private final Duration interval;
  private final Supplier<ListenStatus> listening;
  private final Housekeeping housekeeping;
  private final RegistryEntry entry;
  private final RepeatedTask polls;
  private volatile List<PollTarget> targets = List.of();

  private final AtomicLong begun = new AtomicLong();
  private volatile long begunAt = System.nanoTime() - LEAST_BETWEEN_NANOS;
  // Of the polls, one at a time; times by System.nanoTime().
  private int failures;
  private long wholeNotBefore = begunAt;
  private long wholeTook;
  private boolean wasWhole;
  private long fastUntil = begunAt;
  private final Throttle queueWarnings = new Throttle(BETWEEN_WARNINGS);
  private final RepeatedTrouble trouble;

  /**
   * @param interval between two polls where nothing asks for one
   */
  public Poll(ListenerContext context, Duration interval, Supplier<ListenStatus> listening) {
    this.context = context;
    this.interval = interval;
    this.listening = listening;
    var listener = UUID.randomUUID().toString();
    this.housekeeping = new Housekeeping(context, listener);
    this.entry = new RegistryEntry(context, listener, listening, housekeeping);
    this.trouble = new RepeatedTrouble("the poll failed", "", context.observer());
    this.polls = new RepeatedTask(context.threads(), this::take);
  }

  public void start(Collection<PollTarget> toAskFor) {
    targets = List.copyOf(toAskFor);
    within(Duration.ZERO);
  }

  /**
   * Sees to it that a poll begins within the given time, or 50 ms after the last one; the first one
   * begins with the start. Returns at once; safe on any thread.
   */
  public void within(Duration delay) {
    if (!targets.isEmpty()) {
      var earliest = begunAt + LEAST_BETWEEN_NANOS - System.nanoTime();
      polls.within(Duration.ofNanos(Math.max(delay.toNanos(), earliest)));
    }
  }

  /** A row may be in the hands of a process that dies: a poll begins within a second and a bit. */
  public void somethingWaits() {
    if (interval.compareTo(LONGEST_WHILE_NEEDED) > 0) {
      within(LONGEST_WHILE_NEEDED);
    }
  }

  /** How many polls have begun: what is heard now, only a later one has seen. */
  public long begun() {
    return begun.get();
  }

  /** No poll begins from now on. Returns at once. */
  public void stop() {
    polls.stop();
    housekeeping.stop();
  }

  /**
   * Waits for the poll under way, which may be about to register this process, and then removes the
   * process from the registry, and waits for the housekeeping under way. To be called after {@link
   * #stop}; waits for the database.
   *
   * @param end by System.nanoTime(): how long it waits for these two
   */
  public void unregister(long end) throws InterruptedException {
    polls.awaitEnd(end);
    entry.remove();
    // An interrupt of it may cost the pool a connection.
    housekeeping.awaitEnd(end);
  }

  private Duration take() {
    begun.incrementAndGet();
    begunAt = System.nanoTime();
    try {
      entry.ensure(targets, interval);
      var delay = distribute(context.transactions().run(this::poll));
      entry.heartbeat(targets, interval());
      failures = 0;
      return delay;
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws both.
      return failed(e);
    }
  }

  private List<PollAnswer> poll(Connection connection) throws SQLException {
    var from = System.nanoTime();
    var whole = from - wholeNotBefore >= 0;
    wasWhole = whole;
    List<Long> after = whole ? List.of() : targets.stream().map(PollTarget::cursor).toList();
    try {
      var answers =
          Statements.rows(
              connection, POLL, PollAnswer::of, entry.listener(), Statements.array(after));
      if (whole) {
        var now = System.nanoTime();
        var took = Math.min(now - from, SLOWEST_WHOLE_NANOS);
        wholeNotBefore = now + SHARE_OF_WHOLE * Math.min(took, wholeTook);
        wholeTook = took;
      }
      return answers;
    } catch (SQLException e) {
      if (NOT_REGISTERED.equals(e.getSQLState())) {
        entry.wasRemoved();
      }
      throw e;
    }
  }

  private Duration interval() {
    return interval.compareTo(LONGEST_WHILE_NEEDED) > 0 && !listening.get().listening()
        ? LONGEST_WHILE_NEEDED
        : interval;
  }

  /** Hands each target its answer; returns the time until the next poll. */
  private Duration distribute(List<PollAnswer> answers) {
    for (var answer : answers) {
      warnOfQueue(answer.queueUsage());
      if (answer.gateUnfit()) {
        housekeeping.runSoon();
      }
      if (answer.gateOpen()) {
        fastUntil = System.nanoTime() + FAST_BEHIND_A_GATE.toNanos();
      }
      for (var target : targets) {
        if (target.subscription() == answer.subscription()) {
          target.polled(answer, begun.get());
        }
      }
    }
    return untilNext(answers);
  }

  private Duration untilNext(List<PollAnswer> answers) {
    // Jitter, so that processes started together do not poll together.
    var longest = interval().toMillis();
    var delay = ThreadLocalRandom.current().nextLong(longest * 7 / 8, longest * 9 / 8 + 1);
    for (var answer : answers) {
      if (answer.waits()) {
        delay = Math.min(delay, LONGEST_WHILE_NEEDED.toMillis());
      }
      if (answer.dueInMs() != null) {
        delay = Math.min(delay, Math.max(LEAST_BEFORE_DUE_MS, answer.dueInMs()));
      }
    }
    var now = System.nanoTime();
    if (!wasWhole) {
      // Of the rows before the cursor it says nothing.
      var untilWhole = Duration.ofNanos(wholeNotBefore - now).toMillis();
      delay = Math.min(delay, Math.max(LONGEST_WHILE_NEEDED.toMillis(), untilWhole));
    }
    var isFast = now - fastUntil < 0;
    return Duration.ofMillis(isFast ? Math.min(delay, LONGEST_WHILE_FAST_MS) : delay);
  }

  /**
   * Warns long before PostgreSQL's NOTIFY queue is full. It is emptied as far as the slowest
   * listening session of any database has read, and a session with an open transaction reads
   * nothing. To ask how full it is frees what all have read.
   *
   * @param usage the share that is in use, 0 to 1
   */
  private void warnOfQueue(double usage) {
    if (usage < QUEUE_WARNING || !queueWarnings.permits()) {
      return;
    }
    var percent = Math.round(100 * usage);
    LOG.warn(
        "pgonce: PostgreSQL's NOTIFY queue, one for the whole server, is {} % full, and at 100 % every commit that"
            + " notifies fails: a session that listens has a transaction open and does not read. End that transaction"
            + " or its session, of any database. From 50 % on the server's log has its pid ('is among those with the oldest transactions');"
            + " before, look in pg_stat_activity for an old xact_start. Handlers at work do not listen",
        percent);
    context
        .observer()
        .on(new Event.DatabaseTrouble("", "PostgreSQL's NOTIFY queue is " + percent + " % full"));
  }

  private Duration failed(Exception e) {
    trouble.tell(e);
    failures++;
    return RETRY.after(failures);
  }
}
