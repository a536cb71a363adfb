package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Statements that leave no trace, settings included, in a transaction that stays usable, also if
 * they fail.
 */
final class Undone {

  private Undone() {}

  /** Statements that may fail. */
  @FunctionalInterface
  interface Statements<T> {
    T run() throws SQLException;
  }

  static <T> T during(Connection transaction, Statements<T> statements) throws SQLException {
    var before = transaction.setSavepoint();
    try {
      return statements.run();
    } finally {
      transaction.rollback(before);
      transaction.releaseSavepoint(before);
    }
  }
}
