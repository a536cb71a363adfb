package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * The functions that the SQL of a definition calls, by operators and casts too. They run with the
 * rights of pgonce_owner: who owns one can replace it at any time by another that reads and forges
 * every notification.
 */
final class CalledFunctions {

  // PostgreSQL keeps of a view what it depends on.
  private static final String VIEW =
      """
      CREATE TEMPORARY VIEW pgonce_expression AS
      SELECT (
      %1$s
      ) IS NULL AS value FROM %2$s AS old CROSS JOIN %2$s AS new CROSS JOIN (SELECT ''::text AS tg_op) AS event""";

  private static final String FOREIGN =
      """
      SELECT DISTINCT pg_catalog.format('calls function %s of role %I', f.oid::pg_catalog.regprocedure, o.rolname)
        FROM pg_catalog.pg_rewrite r
        JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = r.oid
        LEFT JOIN pg_catalog.pg_operator p ON d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass AND p.oid = d.refobjid
        JOIN pg_catalog.pg_proc f
          ON f.oid = CASE d.refclassid WHEN 'pg_catalog.pg_proc'::pg_catalog.regclass THEN d.refobjid ELSE p.oprcode::oid END
        JOIN pg_catalog.pg_roles o ON o.oid = f.proowner
       WHERE r.ev_class = 'pg_temp.pgonce_expression'::pg_catalog.regclass
         AND NOT o.rolsuper AND NOT pg_catalog.pg_has_role(o.oid, 'pgonce_owner', 'MEMBER')
       ORDER BY 1
      """;

  private static final String SYNTAX_OR_ACCESS = "42";
  private static final String NO_RIGHT = "42501";

  private CalledFunctions() {}

  /**
   * One line per function that belongs to somebody who could not act as pgonce_owner anyway.
   *
   * @param sql an expression over old and new, with the casts that its use adds. What is none has
   *     no problem here: planning it tells
   * @param what it is for
   * @param mustSee whether it is a problem that the connection's role may not look
   */
  static List<String> problems(
      Connection connection, TableName table, String what, String sql, boolean mustSee)
      throws SQLException {
    return Undone.during(
        connection,
        () -> {
          var problems = new ArrayList<String>();
          try (var statement = connection.createStatement()) {
            statement.execute(VIEW.formatted(sql, Quoted.table(table)));
            try (var row = statement.executeQuery(FOREIGN)) {
              while (row.next()) {
                problems.add(
                    "its %s %s, who could replace it by one that reads and forges every notification, as it runs with the rights of pgonce_owner: let a superuser or pgonce_owner own it (ALTER FUNCTION … OWNER TO pgonce_owner)"
                        .formatted(what, row.getString(1)));
              }
            }
          } catch (SQLException e) {
            if (LockSettings.isLockTimeout(e)) {
              throw e;
            }
            refused(e, what, mustSee).ifPresent(problems::add);
          }
          return problems;
        });
  }

  private static Optional<String> refused(SQLException e, String what, boolean mustSee) {
    return mustSee && !isOfTheExpression(String.valueOf(e.getSQLState()))
        ? Optional.of(
            "which functions its %s calls cannot be looked at: %s; whoever installs may create temporary views, in a transaction that may write, and has that right"
                .formatted(what, e.getMessage()))
        : Optional.empty();
  }

  private static boolean isOfTheExpression(String state) {
    return state.startsWith(SYNTAX_OR_ACCESS) && !state.equals(NO_RIGHT);
  }
}
