package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.records.TableName;

/**
 * A trigger that runs a channel's function. The copies that partitions have of it are not counted.
 *
 * @param table what it is on
 * @param isPartitioned the table
 * @param event what it fires after; the first of several
 * @param firing tgenabled of pg_trigger: O (usual), D (disabled), R (replica only), A (always)
 * @param disabledCopies partitions whose copy fires otherwise
 * @param definition as PostgreSQL prints it
 * @param form the same without quotes, its name and its table: to be compared
 */
public record InstalledTrigger(
    String name,
    long tableOid,
    TableName table,
    boolean isPartitioned,
    String event,
    String firing,
    List<String> disabledCopies,
    String definition,
    String form) {

  // The form is as in pgonce.has_trigger.
  private static final String OF_FUNCTION =
      """
      SELECT t.tgname, t.tgrelid::bigint, n.nspname, c.relname, c.relkind = 'p',
             CASE WHEN t.tgtype & 4 > 0 THEN 'INSERT' WHEN t.tgtype & 16 > 0 THEN 'UPDATE' WHEN t.tgtype & 8 > 0 THEN 'DELETE' ELSE 'TRUNCATE' END,
             t.tgenabled::text,
             (WITH RECURSIVE copy AS (
                SELECT t.oid, t.tgrelid, t.tgenabled
                UNION ALL
                SELECT p.oid, p.tgrelid, p.tgenabled FROM pg_catalog.pg_trigger p JOIN copy ON p.tgparentid = copy.oid)
              SELECT pg_catalog.string_agg(copy.tgrelid::pg_catalog.regclass::text, E'\\n') FROM copy WHERE copy.tgenabled <> t.tgenabled),
             d.definition,
             replace(replace(replace(d.definition, pg_catalog.format('TRIGGER %I ', t.tgname), 'TRIGGER '), pg_catalog.format(' ON %I.%I ', n.nspname, c.relname), ' '), '"', '')
        FROM pg_catalog.pg_trigger t
        JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_triggerdef(t.oid)) AS d (definition)
       WHERE t.tgfoid = CAST(CAST(? AS bigint) AS oid) AND NOT t.tgisinternal AND t.tgparentid = 0
       ORDER BY n.nspname, c.relname, t.tgname
      """;

  /** Whether it fires for what clients write. */
  public boolean isFiring() {
    return firing.equals("O") || firing.equals("A");
  }

  /** Whether it is a constraint trigger, which cannot be replaced. */
  public boolean isConstraint() {
    return form.startsWith("CREATE CONSTRAINT");
  }

  public boolean isPerRow() {
    return form.contains(" FOR EACH ROW ");
  }

  /** All triggers that run the function, on whichever tables. */
  public static List<InstalledTrigger> of(Connection connection, InstalledFunction function)
      throws SQLException {
    return Statements.rows(
        connection,
        OF_FUNCTION,
        row ->
            new InstalledTrigger(
                row.getString(1),
                row.getLong(2),
                new TableName(row.getString(3), row.getString(4)),
                row.getBoolean(5),
                row.getString(6),
                row.getString(7),
                lines(row.getString(8)),
                row.getString(9),
                row.getString(10)),
        function.oid());
  }

  private static List<String> lines(@Nullable String text) {
    return text == null ? List.of() : List.of(text.split("\n", -1));
  }
}
