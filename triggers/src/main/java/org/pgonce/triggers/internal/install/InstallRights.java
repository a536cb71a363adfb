package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Rights;
import org.pgonce.records.internal.catalog.WatchedTable;

/**
 * Whether the roles have the rights that creating a channel's triggers, and running them, takes.
 */
final class InstallRights {

  private static final String ON_TABLE =
      """
      SELECT pg_catalog.format('role %1$I may not create triggers on table %2$s: GRANT TRIGGER ON %2$s TO %1$I', current_user, c.oid::pg_catalog.regclass)
        FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.has_table_privilege(c.oid, 'TRIGGER')
      """;
  private static final String OF_OWNER =
      """
      SELECT pg_catalog.format('role %1$I may not drop a trigger of table %2$s, which only its owner may: let a member of %3$I do it (GRANT %3$I TO %1$I), or run as one: %4$s',
               current_user, c.oid::pg_catalog.regclass, pg_catalog.pg_get_userbyid(c.relowner), CAST(? AS pg_catalog.text))
        FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')
      """;

  // As pgonce.refuse_functions_of_others has it, before anything is changed.
  private static final String OF_ANOTHER =
      """
      SELECT pg_catalog.format('there is function %1$s of role "%2$s" already, and the channel''s functions are to belong to role "%3$s": look at it, then drop it (DROP FUNCTION %1$s CASCADE) or give it to that role (ALTER FUNCTION %1$s OWNER TO %4$s)',
               p.oid::pg_catalog.regprocedure, pg_catalog.pg_get_userbyid(p.proowner), o.name, pg_catalog.quote_ident(o.name))
        FROM pg_catalog.pg_proc p CROSS JOIN (SELECT CAST(? AS pg_catalog.text)) AS o (name)
       WHERE p.oid = CAST(CAST(? AS bigint) AS oid)
      """;
  private static final String OUTDATED =
      """
      SELECT pg_catalog.format('function %1$s belongs to %2$I, and role %3$I cannot drop it: GRANT %2$I TO %3$I, or let a superuser DROP FUNCTION %1$s CASCADE',
               p.oid::pg_catalog.regprocedure, pg_catalog.pg_get_userbyid(p.proowner), current_user)
        FROM pg_catalog.pg_proc p
       WHERE p.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.pg_has_role(p.proowner, 'USAGE')
      """;

  private InstallRights() {}

  /** What keeps the connection's role from installing. */
  static List<String> obstacles(Connection connection, State state, WatchedTable table)
      throws SQLException {
    var obstacles = new ArrayList<String>();
    Stream.ofNullable(Rights.missingToInstall(connection)).forEach(obstacles::add);
    obstacles.addAll(lines(connection, ON_TABLE, table.oid()));
    var dropped =
        state.wanted().stream()
            .flatMap(trigger -> new TriggerDrift(trigger, state).dropped().stream())
            .map(TriggerDrift::drop)
            .toList();
    if (!dropped.isEmpty()) {
      obstacles.addAll(lines(connection, OF_OWNER, String.join("; ", dropped), table.oid()));
    }
    var ofOthers = ofOthers(state);
    for (var function : ofOthers) {
      obstacles.addAll(
          lines(connection, OF_ANOTHER, String.valueOf(state.owner()), function.oid()));
    }
    if (!OwnerRole.mayDrop(connection)) {
      for (var function : state.outdated()) {
        if (!ofOthers.contains(function)) {
          obstacles.addAll(lines(connection, OUTDATED, function.oid()));
        }
      }
    }
    return obstacles;
  }

  private static List<String> lines(Connection connection, String sql, Object... parameters)
      throws SQLException {
    return Statements.rows(connection, sql, row -> row.getString(1), parameters);
  }

  /**
   * Functions in the place of those to be created that belong to another role. CREATE OR REPLACE
   * would leave them to that role, which can change them at any time; and who made one in the name
   * of another may have kept the right to execute it.
   */
  private static List<InstalledFunction> ofOthers(State state) {
    var creates =
        state.wanted().stream()
            .anyMatch(trigger -> new FunctionDrift(trigger, state).isToBeReplaced());
    var owner = state.owner();
    return !creates || owner == null
        ? List.of()
        : state.installed().keySet().stream()
            .filter(function -> !function.owner().equals(owner))
            .toList();
  }
}
