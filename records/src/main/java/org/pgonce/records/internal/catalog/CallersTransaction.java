package org.pgonce.records.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.store.PinnedPath;

/** Work on a caller's connection: with the path pinned, which the caller's transaction is not. */
public final class CallersTransaction {

  private CallersTransaction() {}

  /** Statements. */
  @FunctionalInterface
  public interface Work<T> {
    T run() throws SQLException;
  }

  /** Statements that give nothing back. */
  @FunctionalInterface
  public interface Change {
    void run() throws SQLException;
  }

  /** Runs work that reads. In autocommit it has a transaction of its own, which is rolled back. */
  public static <T> T read(Connection connection, Work<T> work) throws SQLException {
    if (!connection.getAutoCommit()) {
      return pinned(connection, work);
    }
    connection.setAutoCommit(false);
    T result;
    try {
      result = pinned(connection, work);
    } catch (SQLException | RuntimeException | Error e) {
      try {
        end(connection);
      } catch (SQLException closed) {
        // What has closed it, e says. Not added as suppressed: pgjdbc-ng throws one and the same
        // object for every closed connection.
      }
      throw e;
    }
    end(connection);
    return result;
  }

  private static void end(Connection connection) throws SQLException {
    connection.rollback();
    connection.setAutoCommit(true);
  }

  /** Runs work that changes something, in a transaction that the caller commits. */
  public static void change(Connection transaction, Change change) throws SQLException {
    var unused =
        pinned(
            transaction,
            () -> {
              change.run();
              return true;
            });
  }

  private static <T> T pinned(Connection transaction, Work<T> work) throws SQLException {
    PinnedPath.pin(transaction);
    T result;
    try {
      result = work.run();
    } catch (SQLException | RuntimeException e) {
      try {
        PinnedPath.unpin(transaction);
      } catch (SQLException failed) {
        // The transaction has failed, so its rollback restores them.
      }
      throw e;
    }
    PinnedPath.unpin(transaction);
    return result;
  }
}
