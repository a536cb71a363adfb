package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Rights;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.TriggerForm;

/**
 * Whether the roles have the rights that creating a channel's triggers, and running them, takes.
 */
final class InstallRights {

  // Each partition gets its copy of a trigger per row, and may belong to another role.
  private static final String ON_TABLE =
      """
      WITH RECURSIVE locked AS (
        SELECT CAST(CAST(? AS bigint) AS oid) AS oid
        UNION ALL
        SELECT i.inhrelid FROM locked l JOIN pg_catalog.pg_inherits i ON i.inhparent = l.oid WHERE ?
      )
      SELECT pg_catalog.format('role %1$I may not create triggers on table %2$s: GRANT TRIGGER ON %2$s TO %1$I', current_user,
               pg_catalog.string_agg(l.oid::pg_catalog.regclass::text, ', ' ORDER BY l.oid))
        FROM locked l
       WHERE NOT pg_catalog.has_table_privilege(l.oid, 'TRIGGER') HAVING count(*) > 0
      """;
  private static final String ON_SCHEMA =
      """
      SELECT pg_catalog.format('role %1$I may not use schema %2$I, in which table %3$s is: GRANT USAGE ON SCHEMA %2$I TO %1$I', current_user, n.nspname, c.oid::pg_catalog.regclass)
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      """;
  private static final String OF_OWNER =
      """
      SELECT pg_catalog.format('role %1$I may not drop a trigger of table %2$s, which only its owner may: let a member of %3$I do it (GRANT %3$I TO %1$I), or run as one: %4$s',
               current_user, c.oid::pg_catalog.regclass, pg_catalog.pg_get_userbyid(c.relowner), CAST(? AS pg_catalog.text))
        FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')
      """;

  private static final String OF_ANOTHER = "SELECT pgonce.function_of_another(?, ?)";

  private InstallRights() {}

  /** What keeps the connection's role from installing. */
  static List<String> obstacles(Connection connection, State state, WatchedTable table)
      throws SQLException {
    var obstacles = new ArrayList<String>();
    Stream.ofNullable(Rights.missingToInstall(connection)).forEach(obstacles::add);
    obstacles.addAll(lines(connection, ON_SCHEMA, table.oid()));
    obstacles.addAll(lines(connection, ON_TABLE, table.oid(), createsOnPartitions(state, table)));
    var dropped = TriggerDrift.dropped(state).stream().map(TriggerDrift::dropByHand).toList();
    if (!dropped.isEmpty()) {
      obstacles.addAll(lines(connection, OF_OWNER, String.join("; ", dropped), table.oid()));
    }
    if (state.owner() != null && new FunctionDrift(state).isToBeReplaced()) {
      var channel = state.wanted().capture().channel();
      Stream.ofNullable(State.answer(connection, OF_ANOTHER, channel, state.owner()))
          .forEach(obstacles::add);
    }
    return obstacles;
  }

  private static boolean createsOnPartitions(State state, WatchedTable table) {
    return table.isPartitioned()
        && state.wanted().triggers().stream()
            .filter(trigger -> trigger.form() != TriggerForm.STATEMENT)
            .anyMatch(trigger -> new TriggerDrift(trigger, state).isToBeReplaced());
  }

  private static List<String> lines(Connection connection, String sql, Object... parameters)
      throws SQLException {
    return Statements.rows(connection, sql, row -> row.getString(1), parameters);
  }
}
