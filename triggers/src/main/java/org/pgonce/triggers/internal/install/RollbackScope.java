package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;

/**
 * Statements that leave no trace, settings included, in a transaction that stays usable, also if
 * they fail.
 */
final class RollbackScope {

  private RollbackScope() {}

  /** Statements that may fail. */
  @FunctionalInterface
  interface Statements<T> {
    T run() throws SQLException;
  }

  static <T> T during(Connection transaction, Statements<T> statements) throws SQLException {
    var before = transaction.setSavepoint();
    T result;
    try {
      result = statements.run();
    } catch (SQLException | RuntimeException e) {
      try {
        undo(transaction, before);
      } catch (SQLException lost) {
        e.addSuppressed(lost);
      }
      throw e;
    }
    undo(transaction, before);
    return result;
  }

  private static void undo(Connection transaction, Savepoint before) throws SQLException {
    transaction.rollback(before);
    transaction.releaseSavepoint(before);
  }
}
