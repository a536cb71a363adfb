package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.pgonce.ChannelOptions;
import org.pgonce.internal.jdbc.Transactions;

/**
 * Lets as many claims through as the rate of the channel allows all processes together. Permits are
 * taken from the database for a twentieth of a second at once, and kept for a second at most.
 * Thread-safe.
 */
final class RateLimiter {

  private static final long KEPT_NANOS = Duration.ofSeconds(1).toNanos();

  private final Transactions transactions;
  private final int subscription;
  private final int maxRate;
  private final Duration shortestWait;

  private final ReentrantLock lock = new ReentrantLock();
  private int permits;
  private long keptUntil;

  /**
   * @param several whether several permits at once are of use: then those of a twentieth of a
   *     second are waited for, and not each by itself
   */
  RateLimiter(Transactions transactions, int subscription, int maxRate, boolean several) {
    this.transactions = transactions;
    this.subscription = subscription;
    this.maxRate = maxRate;
    this.shortestWait = Duration.ofMillis(several ? 50 : 1);
  }

  /**
   * Takes a permit, if need be from the database.
   *
   * @return zero if it has one; else how long until one is free
   */
  Duration enter() throws SQLException {
    if (enterAtOnce()) {
      return Duration.ZERO;
    }
    var taken =
        transactions.run(
            transaction ->
                RateStatements.take(transaction, subscription, Math.max(1, maxRate / 20)));
    if (taken.granted() == 0) {
      return taken.freeIn().compareTo(shortestWait) < 0 ? shortestWait : taken.freeIn();
    }
    lock.lock();
    try {
      // Another worker may have taken some meanwhile.
      permits = (isKept() ? permits : 0) + taken.granted() - 1;
      keptUntil = System.nanoTime() + KEPT_NANOS;
    } finally {
      lock.unlock();
    }
    return Duration.ZERO;
  }

  /** Takes a permit if this process has one. */
  boolean enterAtOnce() {
    if (maxRate == ChannelOptions.NO_MAX_RATE) {
      return true;
    }
    lock.lock();
    try {
      if (permits == 0 || !isKept()) {
        return false;
      }
      permits--;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Takes as many more as this process has, at most so many; returns how many. */
  int enterMore(int most) {
    if (maxRate == ChannelOptions.NO_MAX_RATE) {
      return most;
    }
    lock.lock();
    try {
      var taken = isKept() ? Math.min(permits, most) : 0;
      permits -= taken;
      return taken;
    } finally {
      lock.unlock();
    }
  }

  /** Called with the lock held. */
  private boolean isKept() {
    return System.nanoTime() - keptUntil <= 0;
  }

  /** So many permits were not needed. */
  void giveBack(int count) {
    if (maxRate == ChannelOptions.NO_MAX_RATE) {
      return;
    }
    lock.lock();
    try {
      permits += count;
    } finally {
      lock.unlock();
    }
  }
}
