package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;

/**
 * Whether the connection's role may do what a listener does, and whether schema pgonce has the
 * owners and rights that its scripts gave it. The statements read the catalogs only, so they work
 * without any right on the schema.
 */
public final class Rights {

  // The last of them: a hardened server takes functions of PostgreSQL's own from PUBLIC.
  private static final String SCHEMA =
      """
      SELECT 'the schema pgonce does not exist in database ' || current_database() || ': {install}, or run the files of sql/'
       WHERE to_regnamespace('pgonce') IS NULL
      UNION ALL
      SELECT 'the server is a standby: it takes no writes and no LISTEN; give the address of the primary'
       WHERE pg_is_in_recovery()
      UNION ALL
      SELECT format('role %%I may not use the schema pgonce: GRANT %1$s TO %%I', current_user, current_user)
       WHERE to_regnamespace('pgonce') IS NOT NULL AND NOT has_schema_privilege('pgonce', 'USAGE')
      UNION ALL
      SELECT format('role pgonce_owner may not execute %%1$s, and those who store notifications need it: GRANT EXECUTE ON FUNCTION pg_catalog.%%1$s TO pgonce_owner', f.name)
        FROM pg_roles o
       CROSS JOIN unnest(ARRAY['pg_notify(text, text)', 'pg_advisory_xact_lock(bigint)', 'pg_try_advisory_xact_lock(bigint)']) AS f (name)
       WHERE o.rolname = 'pgonce_owner' AND NOT has_function_privilege(o.oid, 'pg_catalog.' || f.name, 'EXECUTE')
      """
          .replace("{install}", Schema.INSTALL);

  private static final String PUBLISHING = SCHEMA.formatted("pgonce_publisher");

  // A role that is a member already gains nothing by being made one.
  private static final String REMEDY =
      """
      (SELECT CASE WHEN bool_or(pg_has_role(current_user, r.oid, 'USAGE'))
                THEN 'pgonce_listener, of which it is a member, has lost this right: call PgOnce.install as a superuser, or run the files of sql/ again'
                ELSE format('GRANT pgonce_listener TO %I', current_user) END
         FROM pg_roles r WHERE r.rolname = 'pgonce_listener')""";

  // A row-level policy applies to the owner of the functions where it is forced, and to the role's
  // own statements where it is on.
  private static final String PROBLEMS =
      SCHEMA.formatted("pgonce_listener")
          + """
      UNION ALL
      SELECT format('role %I may not execute %s: %s', current_user, string_agg(p.proname, ', ' ORDER BY p.proname), {remedy})
        FROM pg_proc p
       WHERE p.pronamespace = to_regnamespace('pgonce')
         AND p.proname IN ('bound_idle', 'not_there', 'may_begin_again', 'take_rate_permits', 'lease', 'renew', 'claim_by_key', 'lock_key', 'schedule', 'bury', 'keys_done', 'listener_starts', 'listener_stops', 'poll', 'open_gate', 'renew_gate', 'close_gate', 'do_writers_wait', 'listener_seen', 'keep_house', 'installed', 'pause', 'copy_of_another')
         AND NOT has_function_privilege(p.oid, 'EXECUTE')
      HAVING count(*) > 0
      UNION ALL
      SELECT format('role %I may not claim from %s: %s', current_user, string_agg(c.oid::regclass::text, ' and ' ORDER BY c.relname), {remedy})
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace('pgonce') AND c.relname IN ('notification', 'scheduled')
         AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'DELETE') AND has_any_column_privilege(c.oid, 'UPDATE'))
      HAVING count(*) > 0
      UNION ALL
      SELECT format('role %I may not read the version in %s: %s', current_user, c.oid::regclass, {remedy})
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace('pgonce') AND c.relname = 'schema_version' AND NOT has_table_privilege(c.oid, 'SELECT')
      UNION ALL
      SELECT format('role %I may not write the history %s: %s', current_user, c.oid::regclass, {remedy})
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace('pgonce') AND c.relname = 'handled' AND NOT has_any_column_privilege(c.oid, 'INSERT')
      UNION ALL
      SELECT format('row-level security on %s would hide its rows: ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
                    c.oid::regclass, c.oid::regclass)
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace('pgonce') AND c.relkind IN ('r', 'p')
         AND (c.relforcerowsecurity OR (c.relrowsecurity AND row_security_active(c.oid)))
      """
              .replace("{remedy}", REMEDY);

  // A restore without owners or privileges, or into a server without the roles, loses the owner of
  // the schema along with that of everything in it, and the roles' right to use it along with all
  // others. Functions then run with the rights of the role that restored them, or fail in each
  // write of a watched table. Roles are compared by name, as they may not be there.
  private static final String DAMAGE =
      """
      WITH lost (what) AS (
        SELECT pg_catalog.format('it belongs to %I and not to pgonce_owner', pg_catalog.pg_get_userbyid(n.nspowner))
          FROM pg_catalog.pg_namespace n WHERE n.nspname = 'pgonce' AND pg_catalog.pg_get_userbyid(n.nspowner) <> 'pgonce_owner'
        UNION ALL
        SELECT pg_catalog.format('schema %s is missing, or does not belong to pgonce_owner', s.name)
          FROM pg_catalog.unnest(ARRAY['pgonce_private', 'pgonce_triggers']) AS s (name) JOIN pg_catalog.pg_namespace n ON n.nspname = 'pgonce'
         WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_namespace p WHERE p.nspname = s.name AND pg_catalog.pg_get_userbyid(p.nspowner) = 'pgonce_owner')
        UNION ALL
        SELECT pg_catalog.format('role %s may not use it', r.name)
          FROM pg_catalog.unnest(ARRAY['pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_monitor', 'pgonce_installer']) AS r (name) JOIN pg_catalog.pg_namespace n ON n.nspname = 'pgonce'
         WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles e WHERE e.rolname = r.name AND pg_catalog.has_schema_privilege(e.oid, n.oid, 'USAGE'))
      )
      SELECT 'schema pgonce of database ' || pg_catalog.current_database() || ' has lost owners or rights, as in a restore with --no-owner or --no-privileges, or into a server without pgonce''s roles: '
             || pg_catalog.string_agg(l.what, '; ' ORDER BY l.what)
             || '. Call PgOnce.install as a superuser, or run the files of sql/ again (PgOnce.migration() prints them): they give owners and rights back. Then install the channels of triggers again, which gives the functions'' owners theirs'
        FROM lost l HAVING count(*) > 0
      """;

  // Who may give things away: a superuser, or a member of their owner.
  private static final String MAY_MEND =
      """
      SELECT pg_catalog.bool_and(pg_catalog.pg_has_role(n.nspowner, 'USAGE'))::text
        FROM pg_catalog.pg_namespace n WHERE n.nspname = 'pgonce'
      """;

  private static final String INSTALLING =
      """
      SELECT pg_catalog.format('role %1$I may not install channels: GRANT pgonce_installer TO %1$I. Or have a role that may run what PgOnce.migration prints, and call check in place of install here (Spring Boot: pgonce.install=validate)', current_user)
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = 'pgonce' AND p.proname = 'install_channel' AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
      """;

  // Where the version of the schema cannot be asked for, which comes before all else.
  private static final String TO_READ_VERSION =
      INSTALLING
          + """
         AND NOT EXISTS (
          SELECT FROM pg_catalog.pg_class v
           WHERE v.relnamespace = n.oid AND v.relname = 'schema_version'
             AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(v.oid, 'SELECT'))
      """;

  private static final String COPY =
      "SELECT c.why FROM pgonce.copy_of_another() AS c (why) WHERE c.why IS NOT NULL";

  private Rights() {}

  /**
   * What keeps the role from listening, the schema's version included: one line per problem, with
   * what to do.
   */
  public static List<String> problems(Connection connection) throws SQLException {
    return problems(connection, PROBLEMS);
  }

  /** What keeps one that only publishes from that: one line per problem, with what to do. */
  public static List<String> publishingProblems(Connection connection) throws SQLException {
    return problems(connection, PUBLISHING);
  }

  private static List<String> problems(Connection connection, String rights) throws SQLException {
    var problems = first(connection, DAMAGE, rights);
    return problems.isEmpty() ? Schema.problems(connection) : problems;
  }

  /** What keeps the role from installing channels, and what to do; null if nothing does. */
  public static @Nullable String missingToInstall(Connection connection) throws SQLException {
    return first(connection, DAMAGE, INSTALLING).stream().findFirst().orElse(null);
  }

  /** As {@link #missingToInstall}, of a role that may not even read the schema's version. */
  static @Nullable String missingToReadVersion(Connection connection) throws SQLException {
    return first(connection, TO_READ_VERSION).stream().findFirst().orElse(null);
  }

  /** Why nothing may be delivered in this database if it is a copy: one line, or none. */
  public static List<String> copyProblems(Connection connection) throws SQLException {
    return first(connection, COPY);
  }

  /** What a restore has lost, and what to do; null if nothing is, or there is no schema. */
  public static @Nullable String damage(Connection connection) throws SQLException {
    return first(connection, DAMAGE).stream().findFirst().orElse(null);
  }

  /** Whether the connection's role can mend the damage by running the scripts. */
  static boolean mayMend(Connection connection) throws SQLException {
    return first(connection, MAY_MEND).contains("true");
  }

  /** What the first of these statements says that says anything. */
  private static List<String> first(Connection connection, String... statements)
      throws SQLException {
    for (var sql : statements) {
      var texts = Statements.rows(connection, sql, row -> row.getString(1));
      if (!texts.isEmpty()) {
        return texts;
      }
    }
    return List.of();
  }
}
