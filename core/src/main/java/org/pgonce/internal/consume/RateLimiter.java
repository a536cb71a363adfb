package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;

/**
 * Lets as many handlers begin as the rate of the channel allows all processes together. No thread
 * waits here: without a permit the worker gives up its slot, and {@link FetchTrigger#rest} lets one
 * begin when a permit is free.
 *
 * <p>Permits are taken from the database for a twentieth of a second at once, by how many were used
 * lately, and kept for a tenth, or until the next one is free. What a process keeps unused the
 * others lack, and what it uses late comes on top of their rate. Thread-safe.
 */
final class RateLimiter {

  private static final long AT_ONCE_NANOS = Duration.ofMillis(50).toNanos();
  private static final long KEPT_NANOS = Duration.ofMillis(100).toNanos();

  private static final String TAKE =
      "SELECT t.granted, t.wait_ms FROM pgonce.take_rate_permits(?, ?) AS t";

  private final Transactions transactions;
  private final int subscription;
  private final boolean several;
  private final int mostAtOnce;
  private final long keptNanos;

  private int permits;
  // When the database granted some, by System.nanoTime(), and how many were used since.
  private long grantedAt = System.nanoTime();
  private int used;

  /**
   * @param several whether several permits at once are of use: then those of a twentieth of a
   *     second are taken and waited for, and not each by itself
   */
  RateLimiter(Transactions transactions, int subscription, int maxRate, boolean several) {
    this.transactions = transactions;
    this.subscription = subscription;
    this.several = several;
    this.mostAtOnce = Math.max(1, maxRate / 20);
    this.keptNanos = Math.max(KEPT_NANOS, Duration.ofSeconds(1).toNanos() / maxRate);
  }

  /**
   * Takes a permit, if need be from the database.
   *
   * @return zero if it has one; else how long until one is free
   */
  Duration takePermit() throws SQLException {
    if (takeKept(1) == 1) {
      return Duration.ZERO;
    }
    var answer = transactions.run(this::take);
    if (answer.granted() == 0) {
      var shortest = several ? Duration.ofNanos(AT_ONCE_NANOS) : Duration.ofMillis(1);
      return answer.freeIn().compareTo(shortest) < 0 ? shortest : answer.freeIn();
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
        wanted());
  }

  private synchronized int wanted() {
    if (several) {
      return mostAtOnce;
    }
    var since = Math.max(1, System.nanoTime() - grantedAt);
    return (int) Math.max(1, Math.min(mostAtOnce, used * AT_ONCE_NANOS / since));
  }

  private synchronized void keep(int more) {
    // Another worker may have taken some meanwhile.
    permits = (isKept() ? permits : 0) + more;
    grantedAt = System.nanoTime();
    used = 1;
  }

  /** Takes as many permits as this process has, at most so many; returns how many. */
  synchronized int takeKept(int most) {
    var taken = isKept() ? Math.min(permits, most) : 0;
    permits -= taken;
    used += taken;
    return taken;
  }

  private boolean isKept() {
    return System.nanoTime() - grantedAt <= keptNanos;
  }

  /** So many permits were not needed. */
  synchronized void giveBack(int count) {
    permits += count;
    used -= count;
  }
}
