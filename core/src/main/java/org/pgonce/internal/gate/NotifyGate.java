package org.pgonce.internal.gate;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.consume.SubscriptionConsumer;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The notify gate of one channel. When many wake-ups come, the process opens the gate and claims
 * every 2 ms. Writers then leave out NOTIFY, with which only one of them commits at a time. The
 * process renews the gate every 50 ms while there is enough to do, and closes it otherwise.
 *
 * <p>Order matters: it opens the gate, then claims; it closes the gate, then claims several times
 * over half a second, but for a process that stops. A row whose writer read an open gate and
 * commits later than that is found by the poll. If two processes open the gate at once, the first
 * to renew it finds the other's value, and stops. {@code models/} has this as a model.
 *
 * <p>Only a process that answers wake-ups at once opens the gate. Thread-safe.
 *
 * <p>Whether a writer of new rows notifies is decided by {@code pgonce.needs_notify} in
 * sql/gate.sql. How long polls stay frequent behind an open gate: {@code Poll.FAST_BEHIND_A_GATE}.
 */
public final class NotifyGate {

  private static final Logger LOG = LoggerFactory.getLogger(NotifyGate.class);

  // While the gate is open, a row waits no longer than that for a claim.
  private static final Duration BETWEEN_CLAIMS = Duration.ofMillis(2);
  // The gate stays open for ten times as long.
  private static final Duration RENEWAL = Duration.ofMillis(50);
  // A process that gets no processor looks idle for a moment, too.
  private static final int FEW_IN_A_ROW = 3;
  private static final Duration BETWEEN_QUESTIONS = Duration.ofSeconds(1);
  // The row of the wake-up that leads to a question is claimed first: where processors are few, the
  // question would take one from it.
  private static final Duration BEHIND_THE_CLAIM = Duration.ofMillis(5);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
  // After 0, 2, 6, 14 … 510 ms.
  private static final int LAST_CLAIMS = 9;

  // See sql/gate.sql. The first two return a value of the gate, and NULL or 0 for no. Each is a
  // transaction.
  private static final String OPEN = "SELECT pgonce.open_gate(?, ?::text::integer[])";
  private static final String RENEW = "SELECT pgonce.renew_gate(?, ?::text::integer[], ?)";
  private static final String CLOSE = "SELECT pgonce.close_gate(?, ?)";
  private static final String DO_WRITERS_WAIT =
      "SELECT pgonce.do_writers_wait(?, ?::text::integer[])::integer";

  private final String channel;
  private final String listened;
  private final Runnable pollsSoon;
  private final Transactions transactions;
  private final List<SubscriptionConsumer> subscriptions = new ArrayList<>();
  private final RepeatedTask steps;
  private final RepeatedTask claims;

  private final Rate rate = new Rate();

  // The gate's value while this process has it open, and 0 otherwise. Written by the steps.
  private volatile long mine;
  // By System.nanoTime(): before that it does not open, or ask whether writers wait.
  private volatile long notBefore = System.nanoTime();
  private volatile long askNotBefore = notBefore;

  // Of the steps, one at a time.
  private int fewInARow;
  // Of the claims, one at a time.
  private int claimsSinceClosed;

  /**
   * @param listened the ids of the channel's subscriptions that this process listens for
   * @param pollsSoon asks for a poll that sees the gate open; must return at once
   */
  public NotifyGate(
      String channel,
      Threads threads,
      Transactions transactions,
      List<Integer> listened,
      Runnable pollsSoon) {
    this.channel = channel;
    this.pollsSoon = pollsSoon;
    this.transactions = transactions;
    this.listened = Statements.array(listened.stream().sorted().toList());
    this.steps = new RepeatedTask(threads, this::step);
    this.claims = new RepeatedTask(threads, this::claim);
  }

  /** Before the listener starts. */
  public void add(SubscriptionConsumer subscription) {
    subscriptions.add(subscription);
  }

  /** A wake-up for new rows came. Returns at once. */
  public void heard() {
    rate.heard(System.nanoTime());
    if (subscriptions.stream().noneMatch(SubscriptionConsumer::answersAtOnce)) {
      if (rate.isMany()) {
        pollsSoon.run();
      }
    } else if (mine == 0 && isWanted()) {
      steps.within(rate.isMany() ? Duration.ZERO : BEHIND_THE_CLAIM);
    }
  }

  /** Whether it should open, or ask whether writers wait. */
  private boolean isWanted() {
    var now = System.nanoTime();
    return now - notBefore >= 0 && (rate.isMany() || (rate.isSome() && now - askNotBefore >= 0));
  }

  /** Neither opens nor renews the gate from now on. Returns at once. */
  public void stop() {
    steps.stop();
    claims.stop();
  }

  /**
   * Closes the gate if it is open; if that fails, it closes by itself within half a second. To be
   * called after {@link #stop}; waits for the database.
   *
   * @param end by System.nanoTime(): how long it waits for the step under way
   */
  public void close(long end) throws InterruptedException {
    steps.awaitEnd(end);
    if (mine != 0) {
      try {
        closeMine();
      } catch (SQLException | RuntimeException e) {
        LOG.debug("pgonce: the gate of channel {} could not be closed", channel, e);
      }
    }
  }

  /** Returns when the next step is due; null: when many wake-ups come. */
  private @Nullable Duration step() {
    try {
      return mine == 0 ? openIfWanted() : stayOpen();
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked. An open gate closes by
      // itself within half a second.
      LOG.debug("pgonce: the gate of channel {} could not be changed", channel, e);
      rest();
      return mine == 0 ? null : closed();
    }
  }

  private @Nullable Duration openIfWanted() throws SQLException {
    if (isWanted() && !isHeldUp() && (rate.isMany() || doWritersWait())) {
      var value = ask(OPEN, channel, listened);
      if (value != 0) {
        return opened(value);
      }
      rest();
    }
    return null;
  }

  private boolean doWritersWait() throws SQLException {
    askNotBefore = System.nanoTime() + BETWEEN_QUESTIONS.toNanos();
    return ask(DO_WRITERS_WAIT, channel, listened) == 1;
  }

  private Duration opened(long value) {
    LOG.debug("pgonce: the gate of channel {} is open", channel);
    fewInARow = 0;
    mine = value;
    rate.reset();
    pollsSoon.run();
    claims.within(Duration.ZERO);
    return RENEWAL;
  }

  private @Nullable Duration claim() {
    subscriptions.forEach(SubscriptionConsumer::fetch);
    if (mine != 0) {
      claimsSinceClosed = 0;
      return BETWEEN_CLAIMS;
    }
    claimsSinceClosed++;
    if (claimsSinceClosed == LAST_CLAIMS) {
      claimsSinceClosed = 0; // the next opening may be over before a claim sees it
      return null;
    }
    return BETWEEN_CLAIMS.multipliedBy(1L << (claimsSinceClosed - 1));
  }

  private @Nullable Duration stayOpen() throws SQLException {
    var busy = false;
    for (var one : subscriptions) { // each is to be asked
      busy |= one.takeBusy();
    }
    fewInARow = busy ? 0 : fewInARow + 1;
    if (fewInARow < FEW_IN_A_ROW && !isHeldUp()) {
      var renewed = ask(RENEW, channel, listened, mine);
      if (renewed != 0) {
        mine = renewed;
        return RENEWAL;
      }
    } else {
      closeMine();
    }
    return closed();
  }

  private @Nullable Duration closed() {
    LOG.debug("pgonce: the gate of channel {} is closed", channel);
    mine = 0;
    claims.within(Duration.ZERO);
    return null;
  }

  private void closeMine() throws SQLException {
    transactions.make(transaction -> Statements.execute(transaction, CLOSE, channel, mine));
  }

  private long ask(String sql, Object... parameters) throws SQLException {
    return transactions.run(
        transaction -> Statements.row(transaction, sql, row -> row.getLong(1), parameters));
  }

  private boolean isHeldUp() {
    return subscriptions.stream().anyMatch(SubscriptionConsumer::isHeldUp);
  }

  private void rest() {
    notBefore = System.nanoTime() + AFTER_FAILURE.toNanos();
  }

  /**
   * How many wake-ups come in. Many: 250 a second, which is worth an open gate. Some: 30 a second;
   * fewer may be all that come where writers wait for one another, each for the disk in turn.
   * Thread-safe.
   */
  static final class Rate {

    private static final int MANY = 25;
    private static final int SOME = 3;
    private static final long WINDOW_NANOS = Duration.ofMillis(100).toNanos();

    private long windowSince = System.nanoTime();
    private int heard;

    /** A wake-up came, at this System.nanoTime(). */
    synchronized void heard(long now) {
      if (now - windowSince > WINDOW_NANOS) {
        windowSince = now;
        heard = 0;
      }
      heard++;
    }

    synchronized boolean isMany() {
      return heard >= MANY;
    }

    synchronized boolean isSome() {
      return heard >= SOME;
    }

    synchronized void reset() {
      heard = 0;
    }
  }
}
