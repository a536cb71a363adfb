package org.pgonce.testkit;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Asks a database one question after another in a session that is kept: tests wait by asking, and a
 * session for each question would cost the machine more than what is tested.
 *
 * <p>Safe for use by several threads: who asks while another question is open gets a session of its
 * own.
 */
final class Asking implements AutoCloseable {

  /** What {@link Backends} does not count: it serves no one that a test looks for. */
  static final String APPLICATION_NAME = "pgonce testkit asks";

  private static final int ALIVE_BOUND_S = 2;

  private final PGSimpleDataSource source;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable Connection kept;

  Asking(Login login) {
    source = login.dataSource();
    source.setApplicationName(APPLICATION_NAME);
    // A prepared statement would fail where a test has changed the table meanwhile.
    source.setPrepareThreshold(0);
  }

  interface Column<T extends @Nullable Object> {
    T read(ResultSet row) throws SQLException;
  }

  <T extends @Nullable Object> T one(String sql, Column<T> column) throws SQLException {
    if (lock.tryLock()) {
      try {
        return one(connected(), sql, column);
      } finally {
        lock.unlock();
      }
    }
    try (var another = source.getConnection()) {
      return one(another, sql, column);
    }
  }

  /** The server may have been killed, or the session ended, since the last question. */
  private Connection connected() throws SQLException {
    var connection = kept;
    if (connection == null || !connection.isValid(ALIVE_BOUND_S)) {
      close();
      connection = source.getConnection();
      kept = connection;
    }
    return connection;
  }

  private static <T extends @Nullable Object> T one(
      Connection connection, String sql, Column<T> column) throws SQLException {
    try (var statement = connection.createStatement();
        var rows = statement.executeQuery(sql)) {
      if (!rows.next()) {
        throw new SQLException("Expected one row, got none from: " + sql);
      }
      var value = column.read(rows);
      if (rows.next()) {
        throw new SQLException("Expected one row, got more from: " + sql);
      }
      return value;
    }
  }

  /** Without waiting for an answer that is due; what is asked afterwards has a new session. */
  @Override
  public void close() {
    var connection = kept;
    kept = null;
    if (connection != null) {
      try {
        connection.abort(Runnable::run);
      } catch (SQLException gone) {
        // Its session ends with it, or has ended before.
      }
    }
  }
}
