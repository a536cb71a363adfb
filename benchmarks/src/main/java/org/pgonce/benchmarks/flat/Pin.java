package org.pgonce.benchmarks.flat;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.testkit.TestDatabase;

/**
 * A transaction that somebody holds open: from its snapshot on, no row that is deleted may be taken
 * away, by vacuum or by whoever comes past it.
 */
final class Pin implements AutoCloseable {

  private final Connection connection;

  Pin(TestDatabase database) throws SQLException {
    connection = database.dataSource().getConnection();
    connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute("select count(*) from effect");
    }
  }

  @Override
  public void close() throws SQLException {
    connection.rollback();
    connection.close();
  }
}
