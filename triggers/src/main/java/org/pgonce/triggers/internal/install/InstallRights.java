package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.triggers.internal.catalog.WatchedTable;

/** Whether the connection's role may create a channel's function and trigger. */
final class InstallRights {

  // Until PostgreSQL 15 a member can always act as the role; since 16 membership can say otherwise,
  // and SET ROLE then gives PostgreSQL's own message.
  private static final String PROBLEMS =
      """
      SELECT pg_catalog.format('role %I may not create functions of pgonce: GRANT pgonce_owner TO %I', current_user, current_user)
       WHERE NOT pg_catalog.pg_has_role('pgonce_owner', 'MEMBER')
      UNION ALL
      SELECT pg_catalog.format('role %I is a member of pgonce_owner without its rights: ALTER ROLE %I INHERIT, and from PostgreSQL 16 on GRANT pgonce_owner TO %I WITH INHERIT TRUE', current_user, current_user, current_user)
       WHERE pg_catalog.pg_has_role('pgonce_owner', 'MEMBER') AND NOT pg_catalog.pg_has_role('pgonce_owner', 'USAGE')
      UNION ALL
      SELECT pg_catalog.format('role %I may not create triggers on table %s: GRANT TRIGGER ON %s TO %I', current_user, c.oid::pg_catalog.regclass, c.oid::pg_catalog.regclass, current_user)
        FROM pg_catalog.pg_class c
       WHERE c.oid = CAST(CAST(? AS bigint) AS oid) AND NOT pg_catalog.has_table_privilege(c.oid, 'TRIGGER')
      """;

  private InstallRights() {}

  static List<String> obstacles(Connection connection, WatchedTable table) throws SQLException {
    try (var statement = connection.prepareStatement(PROBLEMS)) {
      statement.setLong(1, table.oid());
      var obstacles = new ArrayList<String>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          obstacles.add(row.getString(1));
        }
      }
      return obstacles;
    }
  }
}
