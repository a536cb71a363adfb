package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.catalog.InstalledFunction;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;

/**
 * What the database has of a capture. Read from the catalogs only: no right is needed, and no lock
 * on the table is taken.
 *
 * @param triggers all that run the function, on whichever tables and by whichever names
 */
record State(
    @Nullable WatchedTable table,
    @Nullable InstalledFunction function,
    List<InstalledTrigger> triggers) {

  static State of(Connection connection, Capture capture) throws SQLException {
    var function = InstalledFunction.find(connection, CaptureFunction.bareName(capture));
    return new State(
        WatchedTable.find(connection, capture.table()),
        function,
        function == null ? List.of() : InstalledTrigger.of(connection, function));
  }

  List<InstalledTrigger> triggersOnTable() {
    return triggers.stream()
        .filter(trigger -> table != null && trigger.tableOid() == table.oid())
        .toList();
  }

  List<InstalledTrigger> triggersElsewhere() {
    return triggers.stream()
        .filter(trigger -> table == null || trigger.tableOid() != table.oid())
        .toList();
  }
}
