package org.pgonce.triggers.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.triggers.TableName;

/**
 * A trigger that runs a channel's function.
 *
 * @param table what it is on
 * @param firing tgenabled of pg_trigger: O (usual), D (disabled), R (replica only), A (always)
 * @param statementInsert whether it is AFTER INSERT, per statement, without a condition, with the
 *     new rows under the name that the function reads
 */
public record InstalledTrigger(
    String name, long tableOid, TableName table, String firing, boolean statementInsert) {

  // tgtype 4: INSERT, and neither ROW (1) nor BEFORE (2) nor another event.
  private static final String OF_FUNCTION =
      """
      SELECT t.tgname, t.tgrelid::bigint, n.nspname, c.relname, t.tgenabled::text,
             t.tgtype = 4 AND t.tgnewtable IS NOT DISTINCT FROM 'new_rows' AND t.tgoldtable IS NULL AND t.tgqual IS NULL AND NOT t.tgdeferrable
        FROM pg_catalog.pg_trigger t
        JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE t.tgfoid = CAST(CAST(? AS bigint) AS oid) AND NOT t.tgisinternal
       ORDER BY n.nspname, c.relname, t.tgname
      """;

  /** All triggers that run the function, on whichever tables. */
  public static List<InstalledTrigger> of(Connection connection, InstalledFunction function)
      throws SQLException {
    try (var statement = connection.prepareStatement(OF_FUNCTION)) {
      statement.setLong(1, function.oid());
      var triggers = new ArrayList<InstalledTrigger>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          triggers.add(
              new InstalledTrigger(
                  row.getString(1),
                  row.getLong(2),
                  new TableName(row.getString(3), row.getString(4)),
                  row.getString(5),
                  row.getBoolean(6)));
        }
      }
      return triggers;
    }
  }
}
