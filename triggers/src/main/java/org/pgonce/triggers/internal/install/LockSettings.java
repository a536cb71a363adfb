package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.jdbc.Statements;

/**
 * What bounds the waits of a transaction, as it was set before.
 *
 * @param lockTimeout as PostgreSQL shows it
 * @param statementTimeout as PostgreSQL shows it
 * @param deadlockTimeoutMs after which PostgreSQL looks for a circle of those who wait
 */
record LockSettings(String lockTimeout, String statementTimeout, long deadlockTimeoutMs) {

  private static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final String QUERY_CANCELED = "57014";

  private static final String CURRENT =
      """
      SELECT pg_catalog.current_setting('lock_timeout'), pg_catalog.current_setting('statement_timeout'),
             (1000 * extract(epoch FROM pg_catalog.current_setting('deadlock_timeout')::interval))::bigint
      """;
  private static final String SET =
      "SELECT pg_catalog.set_config('lock_timeout', ?, true), pg_catalog.set_config('statement_timeout', ?, true)";

  static LockSettings of(Connection transaction) throws SQLException {
    return Statements.row(
        transaction,
        CURRENT,
        row -> new LockSettings(row.getString(1), row.getString(2), row.getLong(3)));
  }

  /**
   * Bounds the next statements of the transaction.
   *
   * @param waitMs for each lock
   * @param statementMs for each statement as a whole, with all its locks
   */
  static void bound(Connection transaction, int waitMs, int statementMs) throws SQLException {
    set(transaction, waitMs + "ms", statementMs + "ms");
  }

  void restore(Connection transaction) throws SQLException {
    set(transaction, lockTimeout, statementTimeout);
  }

  private static void set(Connection transaction, String lockTimeout, String statementTimeout)
      throws SQLException {
    Statements.execute(transaction, SET, lockTimeout, statementTimeout);
  }

  /** Not as long as PostgreSQL waits before it ends one of those who wait in a circle. */
  int clamped(int waitMs) {
    return (int) Math.max(1, Math.min(waitMs, deadlockTimeoutMs * 8 / 10));
  }

  static boolean isLockTimeout(SQLException e) {
    return LOCK_NOT_AVAILABLE.equals(e.getSQLState());
  }

  /**
   * Whether the statement ended by these bounds, and not by somebody who cancelled it.
   *
   * @param timeIsUp whether it had run for as long as it may
   */
  static boolean isRefusal(SQLException e, boolean timeIsUp) {
    return isLockTimeout(e) || (isCancelled(e) && timeIsUp);
  }

  /** By statement_timeout, or by somebody. */
  static boolean isCancelled(SQLException e) {
    return QUERY_CANCELED.equals(e.getSQLState());
  }
}
