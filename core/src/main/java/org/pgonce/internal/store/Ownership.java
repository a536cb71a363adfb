package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * Whether schema pgonce has the owners and rights that its scripts gave it. A restore without
 * owners or privileges, or into a server without the roles, loses them: then functions run with the
 * rights of the role that restored them, or fail in each write of a watched table.
 */
public final class Ownership {

  // Reads the catalogs only, so it works without any right on the schema. Roles are compared by
  // name, as they may not be there. Such a restore loses the owner of the schema along with that of
  // everything in it, and the roles' right to use it along with all others.
  private static final String DAMAGE =
      """
      WITH lost (what) AS (
        SELECT pg_catalog.format('it belongs to %I and not to pgonce_owner', pg_catalog.pg_get_userbyid(n.nspowner))
          FROM pg_catalog.pg_namespace n WHERE n.nspname = 'pgonce' AND pg_catalog.pg_get_userbyid(n.nspowner) <> 'pgonce_owner'
        UNION ALL
        SELECT 'schema pgonce_private is missing'
          FROM pg_catalog.pg_namespace n WHERE n.nspname = 'pgonce' AND NOT EXISTS (SELECT FROM pg_catalog.pg_namespace p WHERE p.nspname = 'pgonce_private')
        UNION ALL
        SELECT pg_catalog.format('role %s may not use it', r.name)
          FROM pg_catalog.unnest(ARRAY['pgonce_publisher', 'pgonce_listener', 'pgonce_admin']) AS r (name) JOIN pg_catalog.pg_namespace n ON n.nspname = 'pgonce'
         WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles e WHERE e.rolname = r.name AND pg_catalog.has_schema_privilege(e.oid, n.oid, 'USAGE'))
      )
      SELECT 'schema pgonce of database ' || pg_catalog.current_database() || ' has lost owners or rights, as in a restore with --no-owner or --no-privileges, or into a server without pgonce''s roles: '
             || pg_catalog.string_agg(l.what, '; ' ORDER BY l.what)
             || '. Call PgOnce.install as a superuser, or run the files of sql/ again (PgOnce.migration() prints them): they give owners and rights back, and change nothing else'
        FROM lost l HAVING count(*) > 0
      """;

  // Who may give things away: a superuser, or a member of their owner.
  private static final String MAY_MEND =
      """
      SELECT pg_catalog.bool_and(pg_catalog.pg_has_role(n.nspowner, 'USAGE'))
        FROM pg_catalog.pg_namespace n WHERE n.nspname = 'pgonce'
      """;

  private Ownership() {}

  /** What is lost, and what to do; null if nothing is, or there is no schema. */
  public static @Nullable String damage(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(DAMAGE)) {
      return row.next() ? row.getString(1) : null;
    }
  }

  /** Whether the connection's role can mend it by running the scripts. */
  static boolean mayMend(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(MAY_MEND)) {
      return row.next() && row.getBoolean(1);
    }
  }
}
