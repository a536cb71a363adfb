package org.pgonce.records.internal.fit;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.Fit;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.CallersTransaction;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.catalog.WatchedTable;

/**
 * A table that records are compared with.
 *
 * @param name with its schema, where there is such a table
 * @param columns empty if there is none
 * @param obstacle why there is no such table, or why it cannot; null if it can
 */
public record Comparison(TableName name, List<Column> columns, @Nullable String obstacle) {

  public static Comparison with(Connection connection, TableName wanted) throws SQLException {
    return CallersTransaction.read(
        connection,
        () -> {
          var table = WatchedTable.find(connection, wanted);
          return table == null
              ? new Comparison(wanted, List.of(), WatchedTable.missing(connection, wanted))
              : new Comparison(table.name(), table.columns(), table.obstacle());
        });
  }

  public Fit fit(Class<?> rowType) {
    return obstacle == null
        ? new Fit(
            RecordFit.misfits(rowType, name, columns), RecordRemarks.of(rowType, name, columns))
        : new Fit(List.of(obstacle), List.of());
  }
}
