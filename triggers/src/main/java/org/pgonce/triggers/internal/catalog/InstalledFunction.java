package org.pgonce.triggers.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A channel's function as the database has it.
 *
 * @param definer whether it runs with its owner's rights
 * @param settings as name=value
 * @param comment empty if it has none
 * @param grantees who but its owner may execute it, and so attach it to a table
 */
public record InstalledFunction(
    long oid,
    String owner,
    boolean definer,
    Set<String> settings,
    String body,
    String comment,
    Set<String> grantees) {

  private static final String FIND =
      """
      SELECT p.oid::bigint, pg_catalog.pg_get_userbyid(p.proowner), p.prosecdef,
             pg_catalog.array_to_string(p.proconfig, E'\\n'), p.prosrc,
             coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
             (SELECT pg_catalog.string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END, E'\\n')
                FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
               WHERE a.grantee <> p.proowner AND a.privilege_type = 'EXECUTE')
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = 'pgonce' AND p.proname = ? AND p.pronargs = 0
      """;

  /** Null if there is none. */
  public static @Nullable InstalledFunction find(Connection connection, String bareName)
      throws SQLException {
    try (var statement = connection.prepareStatement(FIND)) {
      statement.setString(1, bareName);
      try (var row = statement.executeQuery()) {
        return row.next()
            ? new InstalledFunction(
                row.getLong(1),
                row.getString(2),
                row.getBoolean(3),
                lines(row.getString(4)),
                row.getString(5),
                row.getString(6),
                lines(row.getString(7)))
            : null;
      }
    }
  }

  private static Set<String> lines(@Nullable String text) {
    return text == null ? Set.of() : Set.of(text.split("\n", -1));
  }
}
