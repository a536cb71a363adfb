package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.catalog.Columns;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.fit.KeyFit;
import org.pgonce.triggers.internal.fit.RecordFit;

/** Whether a table can feed a channel at all, and whether its rows can be read. */
final class Suitability {

  private Suitability() {}

  /** One line each; empty if nothing speaks against it. */
  static List<String> obstacles(Connection connection, Capture capture, State state)
      throws SQLException {
    var table = state.table();
    if (table == null) {
      return List.of(missing(connection, capture, state));
    }
    var obstacles = new ArrayList<String>();
    var form = table.form().obstacle(table.name());
    if (form != null) {
      obstacles.add(form);
    } else {
      var columns = Columns.of(connection, table);
      obstacles.addAll(RecordFit.misfits(capture.rowType(), table.name(), columns));
      obstacles.addAll(KeyFit.misfits(capture.keys().uses(), table.name(), columns));
      obstacles.addAll(CastRisk.problems(table.name(), columns));
    }
    return obstacles;
  }

  /** What works otherwise than one may expect. */
  static List<String> warnings(@Nullable WatchedTable table) {
    return table == null ? List.of() : table.form().warnings(table.name());
  }

  private static String missing(Connection connection, Capture capture, State state)
      throws SQLException {
    var missing = WatchedTable.missing(connection, capture.table());
    var elsewhere = state.triggers().stream().map(InstalledTrigger::table).toList();
    return elsewhere.isEmpty()
        ? missing
        : missing
            + ". The channel's trigger is on "
            + elsewhere.get(0)
            + ": was the table renamed?";
  }
}
