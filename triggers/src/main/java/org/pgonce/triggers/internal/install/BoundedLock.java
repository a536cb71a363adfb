package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;

/**
 * DDL on tables that others use. Who waits for a table's lock makes all later writers wait behind
 * it. So it waits only shortly, steps back, lets the writers pass, and tries again; in the end it
 * gives up and says who was in the way.
 *
 * <p>Changes of one table hold nothing while they wait. Their last try is longer than PostgreSQL's
 * deadlock_timeout of 1 s, after which an autovacuum gives way. Changes of several tables in one
 * transaction hold the first tables while they wait for the next: a writer that has written one of
 * those, and wants one of these, waits in a circle, and if it waits for deadlock_timeout PostgreSQL
 * may fail the writer. So they are tried together, for less than that, and given back together.
 */
final class BoundedLock {

  /** How long a script waits for an installation beside it, when no writer waits for the script. */
  static final int LONGEST_LOCK_MS = 10_000;

  /** How long one try makes writers wait for the lock at most. */
  static final int LONGEST_WAIT_MS = 1500;

  /** What the change itself may take when it has the lock, and any further locks of it. */
  static final int LONGEST_WORK_MS = 500;

  /** How long one try for several tables may take from its first lock to its last, at most. */
  static final int LONGEST_TOGETHER_MS = 800;

  /** With less, not even a change that has nothing to wait for can be made. */
  private static final int SHORTEST_TRY_MS = 20;

  private static final int ROLLBACKS = 5;

  private static final List<Integer> WAITS_MS = List.of(50, 100, 200, 400, 800, LONGEST_WAIT_MS);
  private static final List<Integer> WAITS_TOGETHER_MS = List.of(100, 200, 400, 800, 800, 800);

  /** In a script for several tables, which cannot give one back while it waits for the next. */
  private static final int SHORTEST_IN_SCRIPT_MS = 50;

  private final Connection transaction;

  BoundedLock(Connection transaction) {
    this.transaction = transaction;
  }

  /**
   * Runs all changes, or none, within about 6 s.
   *
   * @throws PgOnceException if a lock was not to be had: none of them was made
   */
  void run(List<TableChange> changes) throws SQLException {
    if (changes.isEmpty()) {
      return;
    }
    var settings = LockSettings.of(transaction);
    // Of a table, the strongest lock first: a stronger one later would be waited for as well.
    var ordered =
        changes.stream().sorted(Comparator.comparing(change -> !change.exclusive())).toList();
    var together = isOfSeveralTables(changes);
    var inTheWay = ordered.get(0);
    var waits = together ? WAITS_TOGETHER_MS : WAITS_MS;
    for (var i = 0; i < waits.size(); i++) {
      if (i > 0) {
        pause(waits.get(i - 1));
      }
      var before = transaction.setSavepoint();
      var refused =
          together
              ? firstRefused(ordered, settings.clamped(waits.get(i)), 0, before)
              : firstRefused(ordered, waits.get(i), LONGEST_WORK_MS, before);
      if (refused == null) {
        settings.restore(transaction);
        transaction.releaseSavepoint(before);
        return;
      }
      inTheWay = refused;
    }
    throw new PgOnceException(inTheWay.givenUp(transaction, together));
  }

  /**
   * How long a script waits for each of its tables at most, which all have one try: together less
   * than deadlock_timeout.
   */
  static int inScriptMs(int tables) {
    return tables > 1
        ? Math.max(SHORTEST_IN_SCRIPT_MS, LONGEST_TOGETHER_MS / tables)
        : LONGEST_WAIT_MS;
  }

  private static boolean isOfSeveralTables(List<TableChange> changes) {
    return changes.stream().anyMatch(TableChange::severalTables)
        || changes.stream().map(change -> change.target().oid()).distinct().count() > 1;
  }

  /**
   * Null if all were made.
   *
   * @param waitMs for all locks
   * @param workMs for all work beyond that
   */
  private @Nullable TableChange firstRefused(
      List<TableChange> changes, int waitMs, int workMs, Savepoint before) throws SQLException {
    var begun = System.nanoTime();
    for (var change : changes) {
      var left = waitMs + workMs - (int) TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
      if (left < SHORTEST_TRY_MS) {
        rollBack(before);
        return change;
      }
      var refused = refused(change, Math.min(waitMs, left), left, before);
      if (refused != null) {
        return refused;
      }
    }
    return null;
  }

  /** Null if it was made; else everything since the savepoint is undone, and its locks are free. */
  private @Nullable TableChange refused(
      TableChange change, int waitMs, int statementMs, Savepoint before) throws SQLException {
    LockSettings.bound(transaction, waitMs, statementMs);
    var begun = System.nanoTime();
    try {
      change.run(transaction);
      return null;
    } catch (SQLException e) {
      var tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
      if (!LockSettings.isRefusal(e, tookMs >= statementMs)) {
        throw e;
      }
      rollBack(before);
      return change;
    }
  }

  /**
   * The bound of the last statement is that of the rollback too, which a busy server may exceed.
   */
  private void rollBack(Savepoint before) throws SQLException {
    for (var tries = ROLLBACKS; ; tries--) {
      try {
        transaction.rollback(before);
        return;
      } catch (SQLException e) {
        if (tries == 1 || !LockSettings.isCancelled(e)) {
          throw e;
        }
      }
    }
  }

  private static void pause(int millis) {
    try {
      TimeUnit.MILLISECONDS.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PgOnceException("pgonce was interrupted while it waited for a table's lock", e);
    }
  }
}
