package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Quoted;

/** Acts as another role for a while, within a transaction. */
final class OwnerRole {

  /** Owns the schema of the functions, and so may drop each of them. */
  static final String OF_SCHEMA = "pgonce_owner";

  private static final String ROLE = "SELECT pg_catalog.current_setting('role')";
  private static final String SET_ROLE = "SELECT pg_catalog.set_config('role', ?, true)";
  private static final String OF_TABLE =
      """
      SELECT pgonce.capturing_role(c.oid) FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND pg_catalog.has_table_privilege(c.oid, 'TRIGGER')
      """;
  // Since PostgreSQL 16 a member may be one that cannot act as the role (GRANT … WITH SET FALSE).
  private static final String MAY =
      """
      SELECT pg_catalog.pg_has_role('pgonce_owner',
               CASE WHEN pg_catalog.current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
      """;
  // The path is pinned as at the begin and end of each file of sql/: for the session, since psql
  // may run it without a transaction.
  private static final String SCRIPT =
      """
      SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
      SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
      %sSELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
      """;

  /** That of the database in which a script runs, as {@link #lookUp} has found it. */
  static final String LOOKED_UP = "pg_catalog.current_setting('pgonce.capturing_role')";

  private OwnerRole() {}

  /**
   * A statement to print: the table may belong to another role where the script runs than where it
   * was printed. Before the path is pinned, by which a table without a schema is found.
   */
  static String lookUp(TableName table) {
    return "SELECT pg_catalog.set_config('pgonce.capturing_role', pgonce.capturing_role(CAST(%s AS pg_catalog.regclass)), false);\n"
        .formatted(Quoted.literal(Quoted.table(table)));
  }

  /** Statements to print that the role does which was looked up. */
  static String asLookedUp(String statements) {
    return "SELECT pg_catalog.set_config('role', %s, false);\n%sRESET ROLE;\n"
        .formatted(LOOKED_UP, statements);
  }

  /** Statements to print with their path pinned; empty if there are none. */
  static String script(CharSequence statements) {
    return statements.isEmpty() ? "" : SCRIPT.formatted(statements);
  }

  /** Statements to print that this role does. SET ROLE: they may be run one by one. */
  static String as(String role, String statements) {
    return "SET ROLE %s;\n%sRESET ROLE;\n".formatted(role, statements);
  }

  /** Statements of the transaction. */
  @FunctionalInterface
  interface Work {
    void run() throws SQLException;
  }

  /**
   * To whom the function of a table's triggers is to belong, see pgonce.capturing_role; null if the
   * connection may not install, or put triggers on the table.
   */
  static @Nullable String of(Connection connection, WatchedTable table) throws SQLException {
    return State.answer(connection, OF_TABLE, table.oid());
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
