package org.pgonce.internal.gate;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The notify gate of one channel, as this process uses it. Where many wake-ups come in, the process
 * opens the gate and claims every 2 ms; writers then leave out NOTIFY, which lets only one of them
 * commit at a time. It renews the gate each 50 ms while there is enough to do, and closes it else.
 *
 * <p>Order matters: it opens, then claims; it closes, then claims, several times over half a
 * second. A row whose writer read an open gate and commits later than that is found by the poll.
 * Two processes that open at once: the first to renew finds another's value, and stops. {@code
 * models/} has this as a model.
 *
 * <p>Only a process that answers wake-ups at once opens the gate. Thread-safe.
 */
public final class NotifyGate {

  private static final Logger LOG = LoggerFactory.getLogger(NotifyGate.class);

  // While the gate is open, a row waits no longer than that for a claim.
  private static final Duration BETWEEN_CLAIMS = Duration.ofMillis(2);
  // The database's value is good for ten times as long.
  private static final Duration RENEWAL = Duration.ofMillis(50);
  // So often in a row there must be little to do: a process without a processor is slow as well.
  private static final int FEW_IN_A_ROW = 3;
  private static final Duration BETWEEN_QUESTIONS = Duration.ofSeconds(1);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
  private static final Duration AFTER_REFUSAL = Duration.ofSeconds(10);
  // Behind a closed gate: 0, 2, 6, 14 … 510 ms.
  private static final int LAST_CLAIMS = 9;

  private enum Wish {
    NONE,
    OPEN_IF_WRITERS_WAIT,
    OPEN
  }

  private final String channel;
  private final Threads threads;
  private final Runnable pollsSoon;
  private final GateStatements database;
  private final List<GatedSubscription> subscriptions = new ArrayList<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition closed = lock.newCondition();
  private final WakeUpRate rate = new WakeUpRate();
  private Wish wish = Wish.NONE;
  private boolean open;
  private boolean ticking;
  private boolean stopped;
  private boolean left;
  // By System.nanoTime(): before that it does not open, nor ask whether writers wait.
  private long notBefore = System.nanoTime();
  private long askNotBefore = notBefore;
  private final RepeatedTask steps;

  // Of the step, one at a time.
  private long mine;
  private int fewInARow;
  private int lastClaims;
  private boolean failed;

  /**
   * @param listened the ids of the channel's subscriptions that this process listens for
   * @param pollsSoon called where the gate is open by now, or will be, so that the poll sees it;
   *     must return at once
   */
  public NotifyGate(
      String channel,
      Threads threads,
      Transactions transactions,
      List<Integer> listened,
      Runnable pollsSoon) {
    this.channel = channel;
    this.threads = threads;
    this.pollsSoon = pollsSoon;
    this.database = new GateStatements(transactions, channel, listened.stream().sorted().toList());
    this.steps = new RepeatedTask(threads::runLater, lock, this::step, this::delayAfter);
  }

  /** Before the listener starts. */
  public void add(GatedSubscription subscription) {
    subscriptions.add(subscription);
  }

  /** A wake-up for new rows came. Returns at once. */
  public void heard() {
    // Before the lock: a subscription has one of its own.
    var answers = subscriptions.stream().anyMatch(GatedSubscription::answersAtOnce);
    lock.lock();
    try {
      var now = System.nanoTime();
      rate.heard(now);
      if (rate.isMany() && !answers) {
        pollsSoon.run();
      }
      if (!answers || open || wish == Wish.OPEN || now - notBefore < 0) {
        return;
      }
      var wanted =
          rate.isMany()
              ? Wish.OPEN
              : rate.isSome() && now - askNotBefore >= 0 ? Wish.OPEN_IF_WRITERS_WAIT : Wish.NONE;
      if (wanted.compareTo(wish) > 0) {
        wish = wanted;
        steps.within(Duration.ZERO);
      }
    } finally {
      lock.unlock();
    }
  }

  /** The gate is closed, and not opened again. Returns at once. */
  public void stop() {
    lock.lock();
    try {
      stopped = true;
      steps.within(Duration.ZERO);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until {@link #stop} has closed the gate.
   *
   * @param end by System.nanoTime()
   */
  public void awaitClosed(long end) throws InterruptedException {
    lock.lock();
    try {
      for (var time = end - System.nanoTime(); !left && time > 0; ) {
        time = closed.awaitNanos(time);
      }
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Duration step() {
    failed = true;
    @Nullable Duration delay = null;
    try {
      delay = takeStep();
      failed = false;
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked. An open gate closes by
      // itself within half a second.
      LOG.debug("pgonce: the gate of channel {} could not be changed", channel, e);
    }
    return delay;
  }

  private @Nullable Duration delayAfter(@Nullable Duration returned, boolean again) {
    if (stopped && mine != 0 && !failed) {
      return Duration.ZERO; // to close it
    } else if (stopped) {
      left = true;
      steps.stop();
      closed.signalAll();
      return null;
    }
    if (failed) {
      refuseFor(AFTER_FAILURE);
      if (open) {
        return closedNow();
      }
    }
    return wish != Wish.NONE || again ? Duration.ZERO : returned;
  }

  /** Returns when the next is to be taken; null: when there is a reason. */
  private @Nullable Duration takeStep() throws SQLException {
    if (isStopped()) {
      if (mine != 0) {
        database.close(mine);
        mine = 0;
      }
      return null;
    }
    if (isOpen()) {
      return stayOpen();
    }
    var wanted = takeWish();
    if (wanted != Wish.NONE && !isHeldUp()) {
      return open(wanted);
    }
    return lastClaims > 0 ? claimLast() : null;
  }

  private Wish takeWish() {
    lock.lock();
    try {
      var taken = wish;
      wish = Wish.NONE;
      return taken;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Duration open(Wish wanted) throws SQLException {
    if (wanted == Wish.OPEN_IF_WRITERS_WAIT && !doWritersWait()) {
      return lastClaims > 0 ? claimLast() : null;
    }
    var value = database.open();
    if (value == null || value == GateStatements.TAKEN) {
      refuseFor(value == null ? AFTER_REFUSAL : AFTER_FAILURE);
      return lastClaims > 0 ? claimLast() : null;
    }
    mine = value;
    fewInARow = 0;
    lastClaims = 0;
    lock.lock();
    try {
      LOG.debug("pgonce: the gate of channel {} is open", channel);
      open = true;
      rate.reset();
      if (!ticking) {
        ticking = true;
        threads.tickLater(BETWEEN_CLAIMS, this::tick);
      }
    } finally {
      lock.unlock();
    }
    pollsSoon.run();
    subscriptions.forEach(GatedSubscription::fetch);
    return RENEWAL;
  }

  private boolean doWritersWait() throws SQLException {
    var wait = database.doWritersWait();
    if (wait == null) {
      refuseFor(AFTER_REFUSAL);
      return false;
    }
    lock.lock();
    try {
      askNotBefore = System.nanoTime() + BETWEEN_QUESTIONS.toNanos();
    } finally {
      lock.unlock();
    }
    return wait;
  }

  /** While the gate is open. On the timer's thread. */
  private void tick() {
    lock.lock();
    try {
      ticking = open && !stopped;
      if (!ticking) {
        return;
      }
      threads.tickLater(BETWEEN_CLAIMS, this::tick);
    } finally {
      lock.unlock();
    }
    subscriptions.forEach(GatedSubscription::keepFetching);
  }

  private @Nullable Duration stayOpen() throws SQLException {
    var busy = false;
    for (var one : subscriptions) { // each is to be asked
      busy |= one.wasBusy();
    }
    fewInARow = busy ? 0 : fewInARow + 1;
    if (fewInARow < FEW_IN_A_ROW && !isHeldUp()) {
      var renewed = database.renew(mine);
      if (renewed != null) {
        mine = renewed;
        return RENEWAL;
      }
    } else {
      database.close(mine);
    }
    return closedNow();
  }

  private @Nullable Duration closedNow() {
    mine = 0;
    lastClaims = LAST_CLAIMS;
    lock.lock();
    try {
      LOG.debug("pgonce: the gate of channel {} is closed", channel);
      open = false;
    } finally {
      lock.unlock();
    }
    return claimLast();
  }

  private @Nullable Duration claimLast() {
    subscriptions.forEach(GatedSubscription::fetch);
    lastClaims--;
    return lastClaims == 0
        ? null
        : BETWEEN_CLAIMS.multipliedBy(1L << (LAST_CLAIMS - 1 - lastClaims));
  }

  private boolean isHeldUp() {
    return subscriptions.stream().anyMatch(GatedSubscription::isHeldUp);
  }

  private boolean isOpen() {
    lock.lock();
    try {
      return open;
    } finally {
      lock.unlock();
    }
  }

  private boolean isStopped() {
    lock.lock();
    try {
      return stopped;
    } finally {
      lock.unlock();
    }
  }

  /** It may not be open, or need not, for so long. */
  private void refuseFor(Duration time) {
    lock.lock();
    try {
      notBefore = System.nanoTime() + time.toNanos();
    } finally {
      lock.unlock();
    }
  }
}
