package org.pgonce.triggers.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.definition.CaptureTrigger.Shape;

/**
 * A trigger that runs a channel's function. The copies that partitions have of it are not counted.
 *
 * @param table what it is on
 * @param firing tgenabled of pg_trigger: O (usual), D (disabled), R (replica only), A (always)
 * @param disabledCopies partitions whose copy fires otherwise
 * @param shape null if it is like none that pgonce makes: with a condition, or other names for the
 *     transition tables
 */
public record InstalledTrigger(
    String name,
    long tableOid,
    TableName table,
    String firing,
    List<String> disabledCopies,
    @Nullable Shape shape) {

  private static final String OF_FUNCTION =
      """
      SELECT t.tgname, t.tgrelid::bigint, n.nspname, c.relname, t.tgenabled::text, t.tgtype,
             t.tgoldtable IS NOT NULL, t.tgnewtable IS NOT NULL, t.tgdeferrable AND t.tginitdeferred,
             (SELECT pg_catalog.string_agg(a.attname, E'\\n') FROM pg_catalog.pg_attribute a
               WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr)),
             t.tgqual IS NULL AND t.tgdeferrable = t.tginitdeferred AND coalesce(t.tgoldtable, 'old_rows') = 'old_rows' AND coalesce(t.tgnewtable, 'new_rows') = 'new_rows',
             (WITH RECURSIVE copy AS (
                SELECT t.oid, t.tgrelid, t.tgenabled
                UNION ALL
                SELECT p.oid, p.tgrelid, p.tgenabled FROM pg_catalog.pg_trigger p JOIN copy ON p.tgparentid = copy.oid)
              SELECT pg_catalog.string_agg(copy.tgrelid::pg_catalog.regclass::text, E'\\n') FROM copy WHERE copy.tgenabled <> t.tgenabled)
        FROM pg_catalog.pg_trigger t
        JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE t.tgfoid = CAST(CAST(? AS bigint) AS oid) AND NOT t.tgisinternal AND t.tgparentid = 0
       ORDER BY n.nspname, c.relname, t.tgname
      """;

  public InstalledTrigger {
    disabledCopies = List.copyOf(disabledCopies);
  }

  /** Whether it fires for what clients write. */
  public boolean isFiring() {
    return firing.equals("O") || firing.equals("A");
  }

  /** All triggers that run the function, on whichever tables. */
  public static List<InstalledTrigger> of(Connection connection, InstalledFunction function)
      throws SQLException {
    try (var statement = connection.prepareStatement(OF_FUNCTION)) {
      statement.setLong(1, function.oid());
      var triggers = new ArrayList<InstalledTrigger>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          var shape =
              new Shape(
                  row.getInt(6),
                  row.getBoolean(7),
                  row.getBoolean(8),
                  row.getBoolean(9),
                  Set.copyOf(lines(row.getString(10))));
          triggers.add(
              new InstalledTrigger(
                  row.getString(1),
                  row.getLong(2),
                  new TableName(row.getString(3), row.getString(4)),
                  row.getString(5),
                  lines(row.getString(12)),
                  row.getBoolean(11) ? shape : null));
        }
      }
      return triggers;
    }
  }

  private static List<String> lines(@Nullable String text) {
    return text == null ? List.of() : List.of(text.split("\n", -1));
  }
}
