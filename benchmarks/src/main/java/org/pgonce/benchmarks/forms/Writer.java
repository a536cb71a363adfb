package org.pgonce.benchmarks.forms;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** One operation on one table, in statements that the server has prepared. */
final class Writer implements AutoCloseable {

  private final Operation operation;
  private final Connection connection;
  private final PreparedStatement statement;

  Writer(Operation operation, String table, Connection connection) throws SQLException {
    this.operation = operation;
    this.connection = connection;
    this.statement = connection.prepareStatement(operation.sql(table));
    connection.setAutoCommit(operation.rowsPerCommit() == operation.rowsPerStatement());
  }

  /**
   * Writes rows of consecutive ids, in whole commits.
   *
   * @return nanoseconds
   */
  long write(int firstId, int rows) throws SQLException {
    var begun = System.nanoTime();
    var written = 0;
    while (written < rows) {
      bind(firstId + written);
      written += statement.executeUpdate();
      if (!connection.getAutoCommit() && written % operation.rowsPerCommit() == 0) {
        connection.commit();
      }
    }
    return System.nanoTime() - begun;
  }

  private void bind(int id) throws SQLException {
    statement.setInt(1, id);
    if (operation.rowsPerStatement() > 1) {
      statement.setInt(2, id + operation.rowsPerStatement() - 1);
    } else if (operation.isInsert()) {
      statement.setString(2, "name " + id);
      statement.setBigDecimal(3, BigDecimal.valueOf(id, 2));
    }
  }

  @Override
  public void close() throws SQLException {
    statement.close();
    connection.setAutoCommit(true);
  }
}
