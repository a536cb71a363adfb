package org.pgonce.triggers.internal.catalog;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.triggers.TableName;

/**
 * A table, or what else has such a name.
 *
 * @param name with its schema
 */
public record WatchedTable(long oid, TableName name, TableForm form) {

  // By the session's own path without pg_temp, which PostgreSQL would search first: a temporary
  // table of
  // the same name must not divert the trigger.
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

  /** Null if there is none. */
  public static @Nullable WatchedTable find(Connection connection, TableName wanted)
      throws SQLException {
    try (var statement = connection.prepareStatement(FIND)) {
      statement.setString(1, wanted.table());
      statement.setString(2, wanted.schema());
      statement.setString(3, wanted.schema());
      try (var row = statement.executeQuery()) {
        return row.next()
            ? new WatchedTable(
                row.getLong(1),
                new TableName(row.getString(2), row.getString(3)),
                new TableForm(
                    row.getString(4),
                    row.getString(5),
                    row.getBoolean(6),
                    row.getBoolean(7),
                    row.getBoolean(8),
                    row.getString(9)))
            : null;
      }
    }
  }

  /** Why {@link #find} found nothing, and what may have been meant. */
  public static String missing(Connection connection, TableName wanted) throws SQLException {
    try (var statement = connection.prepareStatement(SEARCHED)) {
      statement.setString(1, wanted.table());
      try (var row = statement.executeQuery()) {
        row.next();
        var where =
            wanted.schema() == null
                ? " on the search path (" + row.getString(2) + ") of database " + row.getString(1)
                : " in database " + row.getString(1);
        var others = row.getString(3);
        return "table %s does not exist%s: create it before the channel, or correct the definition%s"
            .formatted(wanted, where, others == null ? "" : "; there is " + others);
      }
    }
  }
}
