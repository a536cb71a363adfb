package org.pgonce.records.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.records.TableName;

/**
 * A table, or what else has such a name. Read from the catalogs: no right is needed, and no lock on
 * the table is taken.
 *
 * @param oid its object id in this database; 0 if it was not looked up
 * @param name with its schema, if it was looked up
 * @param primaryKey the columns of that; empty if it has none
 * @param keyIsImmediate whether a write of a primary key that another transaction has written waits
 *     for that, and not only where the constraint is checked
 */
public record WatchedTable(
    long oid,
    TableName name,
    TableForm form,
    List<Column> columns,
    List<String> primaryKey,
    boolean keyIsImmediate) {

  // By the session's own path without pg_temp, which PostgreSQL would search first: a temporary
  // table of the same name must not divert the trigger.
  private static final String FIND =
      """
      SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text, c.relispartition, c.relrowsecurity,
             EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid),
             coalesce((SELECT pg_catalog.string_agg(i.inhparent::pg_catalog.regclass::text, ', ' ORDER BY i.inhseqno) FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid), '')
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relname = ?
         AND (n.nspname = ? OR ?::text IS NULL AND n.nspname = ANY (%1$s))
       ORDER BY pg_catalog.array_position(%1$s, n.nspname) LIMIT 1
      """
          .formatted(PinnedPath.SCHEMAS);

  private static final String SEARCHED =
      """
      SELECT pg_catalog.current_database(), pg_catalog.array_to_string(%s, ', '),
             (SELECT pg_catalog.string_agg(pg_catalog.format('%%I.%%I', n.nspname, c.relname), ', ')
                FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE pg_catalog.lower(c.relname) = pg_catalog.lower(?) AND c.relkind IN ('r', 'p')
                 AND n.nspname NOT IN ('pg_catalog', 'information_schema'))
      """
          .formatted(PinnedPath.SCHEMAS);

  public WatchedTable {
    columns = List.copyOf(columns);
    primaryKey = List.copyOf(primaryKey);
  }

  /** An ordinary table that was not looked up: nothing is known of its columns. */
  public static WatchedTable unknown(TableName name) {
    var form = new TableForm("r", "p", false, false, false, "");
    return new WatchedTable(0, name, form, List.of(), List.of(), false);
  }

  /** Null if there is none. */
  public static @Nullable WatchedTable find(Connection connection, TableName wanted)
      throws SQLException {
    record Found(long oid, TableName name, TableForm form) {}
    var found =
        Statements.rows(
            connection,
            FIND,
            row ->
                new Found(
                    row.getLong(1),
                    new TableName(row.getString(2), row.getString(3)),
                    new TableForm(
                        row.getString(4),
                        row.getString(5),
                        row.getBoolean(6),
                        row.getBoolean(7),
                        row.getBoolean(8),
                        row.getString(9))),
            wanted.table(),
            wanted.schema(),
            wanted.schema());
    if (found.isEmpty()) {
      return null;
    }
    var table = found.get(0);
    return new WatchedTable(
        table.oid(),
        table.name(),
        table.form(),
        Columns.of(connection, table.oid()),
        Columns.primaryKey(connection, table.oid()),
        Columns.hasImmediateKey(connection, table.oid()));
  }

  /** Why {@link #find} found nothing, and what may have been meant. */
  public static String missing(Connection connection, TableName wanted) throws SQLException {
    return Statements.row(
        connection,
        SEARCHED,
        row -> {
          var where =
              wanted.schema() == null
                  ? " on the search path (" + row.getString(2) + ") of database " + row.getString(1)
                  : " in database " + row.getString(1);
          var others = row.getString(3);
          return "table %s does not exist%s: create it before the channel, or correct the definition%s"
              .formatted(wanted, where, others == null ? "" : "; there is " + others);
        },
        wanted.table());
  }

  public boolean isKnown() {
    return oid != 0;
  }

  public boolean isPartitioned() {
    return form.isPartitioned();
  }

  /** Why no trigger channel can be on it; null if it can. */
  public @Nullable String obstacle() {
    return form.obstacle(name);
  }

  /**
   * Whether rows of two transactions that agree in these columns have met at the table's primary
   * key before, where one has waited for the other's end.
   */
  public boolean keepsApart(List<String> columns) {
    return keyIsImmediate && columns.containsAll(primaryKey);
  }

  /** Those that a trigger sees. */
  public List<Column> seenColumns() {
    return columns.stream().filter(column -> !column.virtual()).toList();
  }

  private Optional<ColumnType> type(String column) {
    return seenColumns().stream()
        .filter(seen -> seen.name().equals(column))
        .map(Column::type)
        .findFirst();
  }

  /** A column's type as SQL writes it; text if there is no such column. */
  public String typeOf(String column) {
    return type(column).map(ColumnType::name).orElse("text");
  }

  /** The type of null in a column's place as SQL writes it; text if there is no such column. */
  public String plainTypeOf(String column) {
    return type(column).map(ColumnType::plain).orElse("text");
  }

  /** Whether a column is of an enum, or an array of one. */
  public boolean isEnum(String column) {
    return type(column).map(ColumnType::isEnum).orElse(false);
  }
}
