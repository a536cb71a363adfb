package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.pgonce.PgOnceException;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;

/**
 * DDL on a table that others use. Who waits for its lock makes all later writers wait behind it. So
 * it waits only shortly, steps back, lets the writers pass, and tries again; in the end it gives up
 * and says who was in the way. The last try is longer than PostgreSQL's deadlock_timeout of 1 s,
 * after which an autovacuum gives way.
 */
final class BoundedLock {

  /** How long one try makes writers wait at most. */
  static final int LONGEST_WAIT_MS = 1500;

  private static final List<Integer> WAITS_MS = List.of(50, 100, 200, 400, 800, LONGEST_WAIT_MS);
  static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final String LOCK_TIMEOUT = "SELECT pg_catalog.current_setting('lock_timeout')";
  private static final String SET_LOCK_TIMEOUT =
      "SELECT pg_catalog.set_config('lock_timeout', ?, true)";

  // The modes that SHARE ROW EXCLUSIVE conflicts with; ACCESS EXCLUSIVE conflicts with all.
  private static final String BLOCKERS =
      """
      SELECT coalesce(
               pg_catalog.concat_ws(', ', 'backend ' || b.pid, 'role ' || a.usename, 'application ' || nullif(a.application_name, ''), a.state,
                 'in a transaction for ' || pg_catalog.round(extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start)) || ' s'),
               'a prepared transaction')
        FROM (SELECT DISTINCT l.pid FROM pg_catalog.pg_locks l
               WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
                 AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
                 AND l.relation = CAST(CAST(? AS bigint) AS oid)
                 AND (CAST(? AS boolean) OR l.mode NOT IN ('AccessShareLock', 'RowShareLock'))) b
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
       ORDER BY a.xact_start LIMIT 10
      """;

  private final Connection transaction;

  BoundedLock(Connection transaction) {
    this.transaction = transaction;
  }

  /**
   * Runs the statement within about 6 s.
   *
   * @param what for the message, as in: cannot …
   * @param exclusive whether it also waits for those who only read
   * @throws PgOnceException if the lock was not to be had
   */
  void run(String sql, String what, Target target, boolean exclusive) throws SQLException {
    var lockTimeout = lockTimeout();
    for (int wait : WAITS_MS) {
      if (tryOnce(sql, wait)) {
        setLockTimeout(lockTimeout);
        return;
      }
      if (wait != LONGEST_WAIT_MS) {
        pause(wait);
      }
    }
    throw new PgOnceException(
        "pgonce cannot %s: table %s is in use by others, and writers must not queue up behind the wait. Nothing was changed. In the way: %s. Wait for the end of these transactions or end them, then try again"
            .formatted(what, target.table(), blockers(target, exclusive)));
  }

  /**
   * The table whose lock is wanted.
   *
   * @param table as shown
   */
  record Target(long oid, String table) {

    static Target of(InstalledTrigger trigger) {
      return new Target(trigger.tableOid(), trigger.table().toString());
    }
  }

  private boolean tryOnce(String sql, int waitMs) throws SQLException {
    var before = transaction.setSavepoint();
    try (var statement = transaction.createStatement()) {
      setLockTimeout(waitMs + "ms");
      statement.execute(sql);
      transaction.releaseSavepoint(before);
      return true;
    } catch (SQLException e) {
      if (!LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
        throw e;
      }
      transaction.rollback(before);
      return false;
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

  private String lockTimeout() throws SQLException {
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(LOCK_TIMEOUT)) {
      row.next();
      return row.getString(1);
    }
  }

  private void setLockTimeout(String value) throws SQLException {
    try (var statement = transaction.prepareStatement(SET_LOCK_TIMEOUT)) {
      statement.setString(1, value);
      statement.execute();
    }
  }

  private String blockers(Target target, boolean exclusive) throws SQLException {
    try (var statement = transaction.prepareStatement(BLOCKERS)) {
      statement.setLong(1, target.oid());
      statement.setBoolean(2, exclusive);
      var blockers = new ArrayList<String>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          blockers.add(row.getString(1));
        }
      }
      return blockers.isEmpty() ? "nobody any more" : String.join("; ", blockers);
    }
  }
}
