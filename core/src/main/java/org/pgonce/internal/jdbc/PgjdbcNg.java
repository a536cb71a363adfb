package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** What pgjdbc-ng 0.8.9 needs as a pool's driver. By reflection: core does not depend on it. */
public final class PgjdbcNg {

  static final String PACKAGE = "com.impossibl.postgres.";

  /** The driver's interface of a connection; where it is absent, a type that no connection has. */
  private static final Class<?> CONNECTION = type(PACKAGE + "api.jdbc.PGConnection");

  private PgjdbcNg() {}

  private interface Absent {}

  private static Class<?> type(String name) {
    try {
      return Class.forName(name, false, PgjdbcNg.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return Absent.class;
    }
  }

  /** Whether the connection is one of pgjdbc-ng, or wraps one. */
  public static boolean made(Connection connection) throws SQLException {
    return connection.isWrapperFor(CONNECTION);
  }

  /** The process id by which the server, or a pooler, greeted the driver; null if not known. */
  static @Nullable Integer greetingPid(Connection connection) throws SQLException {
    try {
      var driver = connection.unwrap(CONNECTION);
      var keys = driver.getClass().getMethod("getKeyData").invoke(driver);
      return keys == null ? null : (Integer) keys.getClass().getMethod("getProcessId").invoke(keys);
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }

  /**
   * Begins a transaction by a statement of its own. By itself the driver sends its BEGIN along with
   * the first statement, so two requests are under way; if the connection ends then, it answers the
   * first of them only, and the second waits for ever.
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
