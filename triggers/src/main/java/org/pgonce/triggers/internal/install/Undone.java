package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Statements that leave no trace, settings included, in a transaction that stays usable, if they
 * fail too.
 */
final class Undone {

  private Undone() {}

  /** Statements that may fail. */
  @FunctionalInterface
  interface Statements<T> {
    T run() throws SQLException;
  }

  static <T> T during(Connection connection, Statements<T> statements) throws SQLException {
    var autoCommit = connection.getAutoCommit();
    if (autoCommit) {
      connection.setAutoCommit(false);
    }
    try {
      var before = connection.setSavepoint();
      try {
        return statements.run();
      } finally {
        connection.rollback(before);
        connection.releaseSavepoint(before);
      }
    } finally {
      if (autoCommit) {
        connection.rollback();
        connection.setAutoCommit(true);
      }
    }
  }
}
