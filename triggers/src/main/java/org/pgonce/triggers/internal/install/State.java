package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.internal.catalog.InstalledFunction;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureTrigger;

/**
 * What the database has of a capture, beside what it is to have. Read from the catalogs only: no
 * right is needed, and no lock on the table is taken.
 *
 * @param wanted the triggers that the definition takes on this table
 * @param installed each function of the channel, with all triggers that run it, on whichever tables
 *     and by whichever names
 */
record State(
    @Nullable WatchedTable table,
    List<CaptureTrigger> wanted,
    Map<InstalledFunction, List<InstalledTrigger>> installed) {

  static State of(Connection connection, Capture capture) throws SQLException {
    var table = WatchedTable.find(connection, capture.table());
    var installed = new LinkedHashMap<InstalledFunction, List<InstalledTrigger>>();
    for (var function : InstalledFunction.of(connection, capture.channel())) {
      installed.put(function, InstalledTrigger.of(connection, function));
    }
    return new State(
        table, capture.triggers(table != null && table.form().isOfSeveral()), installed);
  }

  @Nullable InstalledFunction function(CaptureTrigger wanted) {
    return installed.keySet().stream()
        .filter(function -> function.name().equals(wanted.bareFunctionName()))
        .findFirst()
        .orElse(null);
  }

  /** Those that run its function. */
  List<InstalledTrigger> triggers(CaptureTrigger wanted) {
    var function = function(wanted);
    return function == null ? List.of() : installed.getOrDefault(function, List.of());
  }

  /** The same on the table. */
  List<InstalledTrigger> triggersOnTable(CaptureTrigger wanted) {
    return triggers(wanted).stream().filter(this::isOnTable).toList();
  }

  /** All triggers of the channel that are on other tables. */
  List<InstalledTrigger> triggersElsewhere() {
    return installed.values().stream()
        .flatMap(List::stream)
        .filter(trigger -> !isOnTable(trigger))
        .toList();
  }

  /** Functions of an earlier definition, which took others. */
  List<InstalledFunction> outdated() {
    var names = wanted.stream().map(CaptureTrigger::bareFunctionName).collect(Collectors.toSet());
    return installed.keySet().stream()
        .filter(function -> !names.contains(function.name()))
        .toList();
  }

  private boolean isOnTable(InstalledTrigger trigger) {
    return table != null && trigger.tableOid() == table.oid();
  }
}
