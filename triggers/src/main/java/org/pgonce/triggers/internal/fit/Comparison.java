package org.pgonce.triggers.internal.fit;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.Fit;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.catalog.Column;
import org.pgonce.triggers.internal.catalog.Columns;
import org.pgonce.triggers.internal.catalog.WatchedTable;

/**
 * A table that records are compared with.
 *
 * @param name with its schema, where there is such a table
 * @param columns of a table that can feed a channel, else empty
 * @param obstacle why there is no such table, or why it cannot; null if it can
 */
public record Comparison(TableName name, List<Column> columns, @Nullable String obstacle) {

  public static Comparison with(Connection connection, TableName wanted) throws SQLException {
    var table = WatchedTable.find(connection, wanted);
    if (table == null) {
      return new Comparison(wanted, List.of(), WatchedTable.missing(connection, wanted));
    }
    var obstacle = table.form().obstacle(table.name());
    var columns = obstacle == null ? Columns.of(connection, table) : List.<Column>of();
    return new Comparison(table.name(), columns, obstacle);
  }

  public Fit fit(Class<?> rowType) {
    return obstacle == null
        ? new Fit(
            RecordFit.misfits(rowType, name, columns), RecordRemarks.of(rowType, name, columns))
        : new Fit(List.of(obstacle), List.of());
  }
}
