package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * One of a channel's functions as the database has it.
 *
 * @param schema pgonce for one that an earlier library made
 * @param name without the schema
 * @param definer whether it runs with its owner's rights
 * @param settings as name=value
 * @param comment empty if it has none
 * @param mayCapture whether its owner may put triggers on the tables that have one, and store into
 *     the channel
 * @param grantees who but its owner may execute it, and so attach it to a table
 */
public record InstalledFunction(
    long oid,
    String schema,
    String name,
    String owner,
    boolean definer,
    Set<String> settings,
    String body,
    String comment,
    boolean mayCapture,
    Set<String> grantees) {

  private static final String FIND =
      """
      SELECT p.oid::bigint, n.nspname, p.proname, pg_catalog.pg_get_userbyid(p.proowner), p.prosecdef,
             pg_catalog.array_to_string(p.proconfig, E'\\n'), p.prosrc,
             coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
             NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                          WHERE t.tgfoid = p.oid AND NOT t.tgisinternal AND NOT pg_catalog.has_table_privilege(p.proowner, t.tgrelid, 'TRIGGER'))
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_class v JOIN pg_catalog.pg_namespace s ON s.oid = v.relnamespace
                                WHERE s.nspname = 'pgonce' AND v.relname = 'into_' || ? AND NOT pg_catalog.has_table_privilege(p.proowner, v.oid, 'INSERT')),
             (SELECT pg_catalog.string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END, E'\\n')
                FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
               WHERE a.grantee <> p.proowner AND a.privilege_type = 'EXECUTE')
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname IN ('pgonce', 'pgonce_triggers') AND (p.proname = ? OR pg_catalog.starts_with(p.proname, ?)) AND p.pronargs = 0
       ORDER BY p.proname
      """;

  /** All functions of a channel, also those of an earlier definition of it. */
  public static List<InstalledFunction> of(Connection connection, String channel)
      throws SQLException {
    return Statements.rows(
        connection,
        FIND,
        row ->
            new InstalledFunction(
                row.getLong(1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getBoolean(5),
                lines(row.getString(6)),
                row.getString(7),
                row.getString(8),
                row.getBoolean(9),
                lines(row.getString(10))),
        channel,
        CaptureTrigger.bareFunctionName(channel),
        CaptureTrigger.bareFunctionName(channel) + ":");
  }

  /** As SQL names it. */
  public String sqlName() {
    return schema + "." + Quoted.identifier(name);
  }

  private static Set<String> lines(@Nullable String text) {
    return text == null ? Set.of() : Set.of(text.split("\n", -1));
  }
}
