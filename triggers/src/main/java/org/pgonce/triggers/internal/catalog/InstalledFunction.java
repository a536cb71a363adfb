package org.pgonce.triggers.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.definition.CaptureTrigger;

/**
 * One of a channel's functions as the database has it.
 *
 * @param name without the schema, which is pgonce
 * @param definer whether it runs with its owner's rights
 * @param settings as name=value
 * @param comment empty if it has none
 * @param grantees who but its owner may execute it, and so attach it to a table
 */
public record InstalledFunction(
    long oid,
    String name,
    String owner,
    boolean definer,
    Set<String> settings,
    String body,
    String comment,
    Set<String> grantees) {

  private static final String FIND =
      """
      SELECT p.oid::bigint, p.proname, pg_catalog.pg_get_userbyid(p.proowner), p.prosecdef,
             pg_catalog.array_to_string(p.proconfig, E'\\n'), p.prosrc,
             coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
             (SELECT pg_catalog.string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END, E'\\n')
                FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
               WHERE a.grantee <> p.proowner AND a.privilege_type = 'EXECUTE')
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = 'pgonce' AND (p.proname = ? OR pg_catalog.starts_with(p.proname, ?)) AND p.pronargs = 0
       ORDER BY p.proname
      """;

  /** All functions of a channel, also those of an earlier definition of it. */
  public static List<InstalledFunction> of(Connection connection, String channel)
      throws SQLException {
    try (var statement = connection.prepareStatement(FIND)) {
      statement.setString(1, CaptureTrigger.bareFunctionName(channel));
      statement.setString(2, CaptureTrigger.bareFunctionName(channel) + ":");
      var functions = new ArrayList<InstalledFunction>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          functions.add(
              new InstalledFunction(
                  row.getLong(1),
                  row.getString(2),
                  row.getString(3),
                  row.getBoolean(4),
                  lines(row.getString(5)),
                  row.getString(6),
                  row.getString(7),
                  lines(row.getString(8))));
        }
      }
      return functions;
    }
  }

  private static Set<String> lines(@Nullable String text) {
    return text == null ? Set.of() : Set.of(text.split("\n", -1));
  }
}
