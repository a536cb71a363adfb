package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;

/** Acts as pgonce_owner for a while, within a transaction. */
final class OwnerRole {

  private static final String ROLE = "SELECT pg_catalog.current_setting('role')";
  private static final String SET_ROLE = "SELECT pg_catalog.set_config('role', ?, true)";

  // The path is pinned as at the begin and end of each file of sql/: for the session, since psql
  // may run it without a transaction.
  private static final String SCRIPT =
      """
      SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
      SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
      SET ROLE pgonce_owner;
      %sRESET ROLE;
      SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
      """;

  private OwnerRole() {}

  /** Statements to print that run as pgonce_owner; empty if there are none. */
  static String script(CharSequence statements) {
    return statements.isEmpty() ? "" : SCRIPT.formatted(statements);
  }

  /** Statements of the transaction. */
  @FunctionalInterface
  interface Statements {
    void run() throws SQLException;
  }

  /** Whether the connection may act as it; there may be no such role yet. */
  static boolean isAllowed(Connection connection) throws SQLException {
    return Undone.during(
        connection,
        () -> {
          try {
            set(connection, FunctionDrift.OWNER);
            return true;
          } catch (SQLException e) {
            return false;
          }
        });
  }

  /** If the statements fail, the rollback of the transaction brings the role back. */
  static void during(Connection transaction, Statements statements) throws SQLException {
    String before;
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(ROLE)) {
      row.next();
      before = row.getString(1);
    }
    set(transaction, FunctionDrift.OWNER);
    statements.run();
    set(transaction, before);
  }

  private static void set(Connection transaction, String role) throws SQLException {
    try (var statement = transaction.prepareStatement(SET_ROLE)) {
      statement.setString(1, role);
      statement.execute();
    }
  }
}
