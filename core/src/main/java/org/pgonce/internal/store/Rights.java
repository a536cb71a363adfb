package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether the connection's role may do what a listener does, and whether the server lets anyone.
 */
public final class Rights {

  // Reads the catalogs only, so it works without any right on the schema. A row-level policy
  // applies to the owner of the functions where it is forced, and to the role's own statements
  // where it is on.
  private static final String PROBLEMS =
      """
      SELECT 'the schema pgonce does not exist in database ' || current_database() || ': call PgOnce.install, or run the files of sql/'
       WHERE to_regnamespace('pgonce') IS NULL
      UNION ALL
      SELECT 'the server is a standby: it takes no writes and no LISTEN; give the address of the primary'
       WHERE pg_is_in_recovery()
      UNION ALL
      SELECT format('role %I may not use the schema pgonce: GRANT pgonce_listener TO %I', current_user, current_user)
       WHERE to_regnamespace('pgonce') IS NOT NULL AND NOT has_schema_privilege('pgonce', 'USAGE')
      UNION ALL
      SELECT format('role %I may not execute %s: GRANT pgonce_listener TO %I', current_user, p.oid::regprocedure, current_user)
        FROM pg_proc p
       WHERE p.pronamespace = to_regnamespace('pgonce')
         AND p.proname IN ('bound_idle', 'not_there', 'may_begin_again', 'take_permits', 'lease', 'renew', 'claim_by_key', 'lock_key', 'lock_key_permit', 'schedule', 'bury', 'key_done', 'listener_starts', 'listener_stops', 'poll', 'open_gate', 'renew_gate', 'close_gate', 'do_writers_wait', 'listener_seen', 'keep_house', 'installed', 'pause', 'copy_of_another')
         AND NOT has_function_privilege(p.oid, 'EXECUTE')
      UNION ALL
      SELECT format('role %I may not claim from %s: GRANT pgonce_listener TO %I', current_user, c.oid::regclass, current_user)
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace('pgonce') AND c.relname IN ('notification', 'scheduled')
         AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'DELETE') AND has_any_column_privilege(c.oid, 'UPDATE'))
      UNION ALL
      SELECT format('row-level security on %s would hide its rows: ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
                    c.oid::regclass, c.oid::regclass)
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace('pgonce') AND c.relkind = 'r'
         AND (c.relforcerowsecurity OR (c.relrowsecurity AND row_security_active(c.oid)))
      """;

  private Rights() {}

  /** One line per problem, with what to do; empty if there are none. */
  public static List<String> problems(Connection connection) throws SQLException {
    var damage = Ownership.damage(connection);
    if (damage != null) {
      return List.of(damage);
    }
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(PROBLEMS)) {
      var problems = new ArrayList<String>();
      while (row.next()) {
        problems.add(row.getString(1));
      }
      return problems;
    }
  }
}
