package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;

/**
 * Lets as many handlers begin as the rate of the channel allows all processes together. Permits are
 * taken from the database for a twentieth of a second at once, and kept for a second at most. No
 * thread waits here: without a permit the worker gives up its slot, and {@link FetchTrigger#rest}
 * lets one begin when a permit is free. Thread-safe.
 */
final class RateLimiter {

  private static final long KEPT_NANOS = Duration.ofSeconds(1).toNanos();

  private static final String TAKE =
      "SELECT t.granted, t.wait_ms FROM pgonce.take_permits(?, ?) AS t";

  private final Transactions transactions;
  private final int subscription;
  private final int maxRate;
  private final Duration shortestWait;

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
    if (enterMore(1) == 1) {
      return Duration.ZERO;
    }
    var answer = transactions.run(this::take);
    if (answer.granted() == 0) {
      return answer.freeIn().compareTo(shortestWait) < 0 ? shortestWait : answer.freeIn();
    }
    keep(answer.granted() - 1);
    return Duration.ZERO;
  }

  private record Answer(int granted, Duration freeIn) {}

  /** In a transaction that should end soon, since all processes wait for it. */
  private Answer take(Connection transaction) throws SQLException {
    return Statements.row(
        transaction,
        TAKE,
        row -> new Answer(row.getInt("granted"), Duration.ofMillis(row.getLong("wait_ms"))),
        subscription,
        Math.max(1, maxRate / 20));
  }

  private synchronized void keep(int more) {
    // Another worker may have taken some meanwhile.
    permits = (isKept() ? permits : 0) + more;
    keptUntil = System.nanoTime() + KEPT_NANOS;
  }

  /** Takes as many permits as this process has, at most so many; returns how many. */
  synchronized int enterMore(int most) {
    var taken = isKept() ? Math.min(permits, most) : 0;
    permits -= taken;
    return taken;
  }

  private boolean isKept() {
    return System.nanoTime() - keptUntil <= 0;
  }

  /** So many permits were not needed. */
  synchronized void giveBack(int count) {
    permits += count;
  }
}
