package org.pgonce.internal.jdbc;

import com.impossibl.postgres.api.jdbc.PGConnection;
import java.sql.Connection;
import java.sql.SQLException;

/** What pgjdbc-ng 0.8.9 needs of whoever claims through its connections. */
public final class PgjdbcNg {

  private PgjdbcNg() {}

  public static boolean made(Connection connection) throws SQLException {
    return connection.isWrapperFor(PGConnection.class);
  }

  /**
   * Begins a transaction by a statement of its own. Left to itself the driver sends its BEGIN along
   * with the first statement, so two requests are under way; when the connection ends, by abort()
   * as well, it tells the first of them only, and whoever waits for the second waits for ever.
   */
  static void begin(Connection connection, String begin) throws SQLException {
    connection.setAutoCommit(true);
    try (var statement = connection.createStatement()) {
      statement.execute(begin);
    } finally {
      // The driver takes note and sends nothing: the transaction is this one.
      connection.setAutoCommit(false);
    }
  }
}
