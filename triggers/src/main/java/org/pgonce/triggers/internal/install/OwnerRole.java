package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.records.internal.catalog.WatchedTable;

/** Acts as another role for a while, within a transaction. */
final class OwnerRole {

  /** Owns the schema of the functions, and so may drop each of them. */
  static final String OF_SCHEMA = "pgonce_owner";

  private static final String ROLE = "SELECT pg_catalog.current_setting('role')";
  private static final String SET_ROLE = "SELECT pg_catalog.set_config('role', ?, true)";
  // A superuser can act as everybody: with the rights of a superuser nothing of a table's is to run
  // that has an owner with fewer.
  private static final String OF_TABLE =
      """
      SELECT pg_catalog.pg_get_userbyid(CASE WHEN pg_catalog.pg_has_role(c.relowner, 'MEMBER') THEN c.relowner ELSE r.oid END)
        FROM pg_catalog.pg_class c CROSS JOIN pg_catalog.pg_roles r
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND r.rolname = current_user AND pg_catalog.has_table_privilege(c.oid, 'TRIGGER')
      """;
  private static final String MAY = "SELECT pg_catalog.pg_has_role('pgonce_owner', 'MEMBER')";
  // The path is pinned as at the begin and end of each file of sql/: for the session, since psql
  // may run it without a transaction.
  private static final String SCRIPT =
      """
      SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
      SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
      %sSELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
      """;

  private OwnerRole() {}

  /** Statements to print with their path pinned; empty if there are none. */
  static String script(CharSequence statements) {
    return statements.isEmpty() ? "" : SCRIPT.formatted(statements);
  }

  /** Statements of the transaction. */
  @FunctionalInterface
  interface Work {
    void run() throws SQLException;
  }

  /**
   * To whom the functions of a table's triggers are to belong: its owner, where the connection can
   * act as that, else the connection's own role; null if that may put no triggers on the table.
   */
  static @Nullable String of(Connection connection, WatchedTable table) throws SQLException {
    return Statements.rows(connection, OF_TABLE, row -> row.getString(1), table.oid()).stream()
        .findFirst()
        .orElse(null);
  }

  /** Whether the connection may drop the functions of others. */
  static boolean mayDrop(Connection connection) throws SQLException {
    return Statements.row(connection, MAY, row -> row.getBoolean(1));
  }

  /**
   * If the work fails, the rollback of the transaction brings the role back.
   *
   * @param role null for the connection's own
   */
  static void during(Connection transaction, @Nullable String role, Work work) throws SQLException {
    if (role == null) {
      work.run();
      return;
    }
    var before = Statements.row(transaction, ROLE, row -> row.getString(1));
    set(transaction, role);
    work.run();
    set(transaction, before);
  }

  /** Until the transaction, or its savepoint, is rolled back. */
  static void set(Connection transaction, String role) throws SQLException {
    Statements.execute(transaction, SET_ROLE, role);
  }
}
