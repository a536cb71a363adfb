package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.deliver.Deadline;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.PoolSettings.Taken;
import org.pgonce.internal.deliver.Subscribed;
import org.pgonce.internal.settle.Failures;
import org.pgonce.internal.settle.Settlement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Empties one subscription as far as this process can. Wake-ups that come while it is at work are
 * folded into one; a further worker joins only while there is work that the others do not get to.
 */
final class Drain<T> {

  private static final Logger LOG = LoggerFactory.getLogger(Drain.class);

  // Bound on one claim: a few index look-ups. Longer than that, the network or the server is gone
  // and nobody has said so.
  private static final Duration CLAIM_TIMEOUT = Duration.ofSeconds(30);

  private final Subscribed<T> subscribed;
  private final int subscription;
  private final Context context;
  private final Delivery<T> delivery;
  private final Settlement settlement;
  private final Sessions sessions;
  private final Pace pace = new Pace();
  private final Set<Attempt<T>> attempts = ConcurrentHashMap.newKeySet();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition idle = lock.newCondition();
  // Workers that claim or handle; those cut off in a handler that does not return are counted as
  // stuck instead.
  private int working;
  // Those among them that have not finished a claim yet: what they do not find, wokenMeanwhile
  // remembers.
  private int looking;
  private int stuck;
  private boolean wokenMeanwhile;
  private boolean resting;
  private boolean stopping;
  // Whether scheduled rows may be due: then they and new rows take turns.
  private boolean due;
  private boolean dueFirst;
  private long claims;
  private long emptyClaims;

  Drain(Subscribed<T> subscribed, Context context, Sessions sessions, Scan scan) {
    this.subscribed = subscribed;
    this.subscription = subscribed.installed().subscription();
    this.context = context;
    this.sessions = sessions;
    this.delivery = new Delivery<>(subscribed, context.codec(), context.publisher());
    this.settlement =
        new Settlement(subscribed, context.transactions(), context.observer(), scan::within);
  }

  int subscription() {
    return subscription;
  }

  ChannelActivity activity() {
    lock.lock();
    try {
      return new ChannelActivity(
          subscribed.name(), subscribed.channel().mode(), working, stuck, claims, emptyClaims);
    } finally {
      lock.unlock();
    }
  }

  /**
   * There may be work. Returns at once; safe on any thread.
   *
   * @param isDue whether scheduled rows are due
   */
  void wake(boolean isDue) {
    lock.lock();
    try {
      wokenMeanwhile = true;
      due |= isDue;
      if (looking == 0) {
        join();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Lets one more worker begin, if there may be one. Called with the lock held. */
  private void join() {
    var places = subscribed.options().concurrency();
    if (stopping || resting || working >= places || stuck > places) {
      return;
    }
    var rest = pace.rest();
    if (rest.isZero()) {
      working++;
      looking++;
      context.threads().run(this::work);
    } else {
      resting = true;
      var unused = context.threads().runLater(rest, this::rested);
    }
  }

  private void rested() {
    lock.lock();
    try {
      resting = false;
      if (wokenMeanwhile && looking == 0) {
        pace.rested();
        join();
      }
    } finally {
      lock.unlock();
    }
  }

  private void work() {
    var slot = new Slot();
    try (var connection = context.dataSource().getConnection()) {
      var fit = false;
      try {
        var taken = context.pool().take(connection, longestCall());
        do {
          fit = false;
          fit = next(connection, taken, slot);
        } while (fit && slot.mayGoOn());
        if (fit) {
          taken.restore();
        }
      } finally {
        if (!fit) {
          sessions.abort(connection);
        }
      }
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      trouble(e);
    } finally {
      slot.leave();
    }
  }

  /** Later than the deadlines of claim and handler: those know what they cut off. */
  private Duration longestCall() {
    return CLAIM_TIMEOUT.plus(subscribed.options().handlerTimeout());
  }

  /** Claims and handles one notification; false if the connection must not be used any more. */
  private boolean next(Connection connection, Taken taken, Slot slot) throws SQLException {
    var claim = claim(connection, taken, slot.looks());
    slot.found(claim);
    if (claim == null) {
      connection.rollback();
      return true;
    }
    var bound = new Deadline.Bound(subscribed.options().handlerTimeout(), context.threads());
    var attempt = new Attempt<T>(claim, connection, settlement, sessions, bound, slot::stick);
    attempts.add(attempt);
    try {
      if (stopping()) {
        attempt.release();
      }
      return attempt.run(delivery);
    } finally {
      attempts.remove(attempt);
    }
  }

  private @Nullable Claim claim(Connection connection, Taken taken, boolean dueFirst)
      throws SQLException {
    var deadline =
        new Deadline.Bound(CLAIM_TIMEOUT, context.threads())
            .begin(() -> sessions.abort(connection));
    try {
      return ClaimStatement.claim(
          connection, taken, subscription, dueFirst, subscribed.options().handlerTimeout());
    } finally {
      deadline.end();
    }
  }

  /** The database, not a notification, is in trouble: rest, then look again. */
  private void trouble(Exception e) {
    var reason = Failures.inWords(e);
    lock.lock();
    try {
      if (stopping) {
        return;
      }
      wokenMeanwhile = true;
      pace.troubled();
    } finally {
      lock.unlock();
    }
    LOG.warn(
        "pgonce: channel {} cannot claim: {}; it tries again within a second, nothing is lost",
        subscribed.name(),
        reason);
    LOG.debug("pgonce: the trouble in full", e);
    context.observer().databaseTrouble(subscribed.name(), reason);
  }

  private boolean stopping() {
    lock.lock();
    try {
      return stopping;
    } finally {
      lock.unlock();
    }
  }

  /** No new claims from now on; handlers that run go on. */
  void stop() {
    lock.lock();
    try {
      stopping = true;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the workers; false if some are still at work when the time is over. */
  boolean awaitIdle(Duration timeout) throws InterruptedException {
    lock.lock();
    try {
      var left = timeout.toNanos();
      while (working > 0) {
        if (left <= 0) {
          return false;
        }
        left = idle.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Gives back what is still claimed: interrupts the handlers and ends their sessions. */
  void release() {
    attempts.forEach(Attempt::release);
  }

  /** One worker's place among the channel's concurrency, given up exactly once. */
  private final class Slot {

    private boolean looking = true;
    private boolean askedForDue;
    private boolean more;
    private boolean stuckInHandler;

    /** A claim begins; returns whether scheduled rows go first this time. */
    boolean looks() {
      lock.lock();
      try {
        if (!looking) {
          looking = true;
          Drain.this.looking++;
        }
        // Before the claim's snapshot is taken: a wake-up from now on may be for a row that this
        // claim does not see.
        wokenMeanwhile = false;
        dueFirst = due && !dueFirst;
        askedForDue = dueFirst;
        return dueFirst;
      } finally {
        lock.unlock();
      }
    }

    void found(@Nullable Claim claim) {
      lock.lock();
      try {
        stopLooking();
        more = claim != null && claim.more();
        pace.claimed(claim != null);
        claims++;
        emptyClaims += claim == null ? 1 : 0;
        // Where none is found, those that are left are claimed; the scan tells of others.
        due = claim != null && (claim.scheduled() || (due && !askedForDue));
        if (claim != null && (more || due || wokenMeanwhile)) {
          join();
        }
      } finally {
        lock.unlock();
      }
    }

    /** Whether there may be something that no claim has looked for yet. */
    boolean mayGoOn() {
      lock.lock();
      try {
        return !stopping && !stuckInHandler && (more || due || wokenMeanwhile);
      } finally {
        lock.unlock();
      }
    }

    /**
     * The handler was cut off: its place goes to another, though its thread may never return. As
     * many may be stuck as may work.
     */
    void stick() {
      lock.lock();
      try {
        stuckInHandler = true;
        stuck++;
        working--;
        idle.signalAll();
        var places = subscribed.options().concurrency();
        LOG.error(
            "pgonce: a handler of channel {} overran {} ms and was cut off; {} such handlers have not returned yet; at {} the channel stalls in this process",
            subscribed.name(),
            subscribed.options().handlerTimeout().toMillis(),
            stuck,
            places + 1);
        wokenMeanwhile = true;
        join();
      } finally {
        lock.unlock();
      }
    }

    void leave() {
      lock.lock();
      try {
        stopLooking();
        if (stuckInHandler) {
          stuck--;
        } else {
          working--;
        }
        idle.signalAll();
        if (wokenMeanwhile && Drain.this.looking == 0) {
          join();
        }
      } finally {
        lock.unlock();
      }
    }

    private void stopLooking() {
      if (looking) {
        looking = false;
        Drain.this.looking--;
      }
    }
  }
}
