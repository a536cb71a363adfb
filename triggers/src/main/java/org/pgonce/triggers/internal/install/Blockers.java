package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.jdbc.Statements;

/** Who holds a lock of a table that another one conflicts with. */
final class Blockers {

  /** What does not conflict with ACCESS EXCLUSIVE. */
  static final String OF_ALL = "{}";

  /** What does not conflict with SHARE ROW EXCLUSIVE. */
  static final String OF_WRITERS = "{AccessShareLock,RowShareLock}";

  private static final String QUERY =
      """
      SELECT coalesce(
               pg_catalog.concat_ws(', ', 'backend ' || b.pid, 'role ' || a.usename, 'application ' || nullif(a.application_name, ''),
                 CASE WHEN a.backend_type <> 'client backend' THEN a.backend_type END, a.state,
                 'in a transaction for ' || pg_catalog.round(extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start)) || ' s'),
               'a prepared transaction')
        FROM (SELECT DISTINCT l.pid FROM pg_catalog.pg_locks l
               WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
                 AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
                 AND l.relation = CAST(CAST(? AS bigint) AS oid)
                 AND l.mode <> ALL (CAST(? AS text[]))) b
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
       ORDER BY a.xact_start LIMIT 10
      """;

  private Blockers() {}

  /**
   * At most ten; empty if there are none.
   *
   * @param harmless the modes that do not conflict, as an array
   */
  static String inWords(Connection transaction, long table, String harmless) throws SQLException {
    return String.join(
        "; ", Statements.rows(transaction, QUERY, row -> row.getString(1), table, harmless));
  }
}
