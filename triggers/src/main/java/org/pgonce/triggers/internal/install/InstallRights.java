package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.triggers.internal.catalog.WatchedTable;

/**
 * Whether the roles have the rights that creating a channel's triggers, and running them, takes.
 */
final class InstallRights {

  // Until PostgreSQL 15 a member can always act as the role; since 16 membership can say otherwise,
  // and SET ROLE then gives PostgreSQL's own message.
  private static final String PROBLEMS =
      """
      SELECT pg_catalog.format('role %1$I may not create functions of pgonce: GRANT %2$I TO %1$I', current_user, r.rolname)
        FROM pg_catalog.pg_roles r WHERE r.rolname = ? AND NOT pg_catalog.pg_has_role(r.oid, 'MEMBER')
      UNION ALL
      SELECT pg_catalog.format('role %1$I is a member of %2$I without its rights: ALTER ROLE %1$I INHERIT, and from PostgreSQL 16 on GRANT %2$I TO %1$I WITH INHERIT TRUE', current_user, r.rolname)
        FROM pg_catalog.pg_roles r WHERE r.rolname = ? AND pg_catalog.pg_has_role(r.oid, 'MEMBER') AND NOT pg_catalog.pg_has_role(r.oid, 'USAGE')
      UNION ALL
      SELECT pg_catalog.format('role %1$I may not create triggers on table %2$s: GRANT TRIGGER ON %2$s TO %1$I', current_user, c.oid::pg_catalog.regclass)
        FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.has_table_privilege(c.oid, 'TRIGGER')
      """;

  private static final String OF_OWNER =
      """
      SELECT pg_catalog.format('role %1$I may not drop a trigger of table %2$s, which only its owner may: let a member of %3$I do it (GRANT %3$I TO %1$I), or run as one: %4$s',
               current_user, c.oid::pg_catalog.regclass, pg_catalog.pg_get_userbyid(c.relowner), ?)
        FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')
      """;

  private static final String OF_SCHEMA =
      """
      SELECT pg_catalog.format('role %1$I may not use schema %2$I of table %3$s, without which its trigger makes a plan for each row: GRANT USAGE ON SCHEMA %2$I TO %1$I',
               r.rolname, n.nspname, c.oid::pg_catalog.regclass)
        FROM pg_catalog.pg_roles r CROSS JOIN pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE r.rolname = ? AND c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
      """;

  // Restored without owners, for one: it would belong to a superuser.
  private static final String OF_SANDBOX =
      """
      SELECT pg_catalog.format('function %1$s belongs to %2$I, with whose rights casts of others run: ALTER FUNCTION %1$s OWNER TO pgonce_sandbox',
               f.oid::pg_catalog.regprocedure, pg_catalog.pg_get_userbyid(f.proowner))
        FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
       WHERE n.nspname = 'pgonce' AND f.proname = 'as_json' AND pg_catalog.pg_get_userbyid(f.proowner) <> 'pgonce_sandbox'
      """;

  private InstallRights() {}

  /** What keeps the connection's role from installing. */
  static List<String> obstacles(Connection connection, State state, WatchedTable table)
      throws SQLException {
    var owner = FunctionDrift.OWNER;
    var obstacles =
        new ArrayList<>(CatalogLines.of(connection, PROBLEMS, owner, owner, table.oid()));
    var dropped =
        state.wanted().stream()
            .flatMap(trigger -> new TriggerDrift(trigger, state).dropped().stream())
            .map(TriggerDrift::drop)
            .toList();
    if (!dropped.isEmpty()) {
      obstacles.addAll(
          CatalogLines.of(connection, OF_OWNER, String.join("; ", dropped), table.oid()));
    }
    return obstacles;
  }

  /** What is wrong with the rights with which the functions run. */
  static List<String> atWork(Connection connection, State state, WatchedTable table)
      throws SQLException {
    var problems = new ArrayList<>(CatalogLines.of(connection, OF_SANDBOX));
    if (state.wanted().stream().anyMatch(trigger -> trigger.looksUp(table.name()))) {
      problems.addAll(CatalogLines.of(connection, OF_SCHEMA, FunctionDrift.OWNER, table.oid()));
    }
    return problems;
  }
}
