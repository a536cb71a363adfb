package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureTrigger;

/**
 * What the database has of a capture, beside what it is to have. Read from the catalogs only: no
 * right is needed, and no lock on the table is taken.
 *
 * @param wanted the triggers that the definition takes on this table
 * @param installed each function of the channel, with all triggers that run it, on whichever tables
 *     and by whichever names
 * @param subscriptions as pgonce.subscriptions_sql has them; null if they are not known
 * @param owner to whom the functions are to belong, see {@link OwnerRole#of}
 */
record State(
    @Nullable WatchedTable table,
    List<CaptureTrigger> wanted,
    Map<InstalledFunction, List<InstalledTrigger>> installed,
    @Nullable String subscriptions,
    @Nullable String owner) {

  private static final String NO_RIGHT = "42501";
  private static final String SUBSCRIPTIONS = "SELECT pgonce.subscriptions_sql(?)";

  static State of(Connection connection, Capture capture) throws SQLException {
    var table = WatchedTable.find(connection, capture.table());
    var wanted = capture.triggers(table == null ? WatchedTable.unknown(capture.table()) : table);
    var names = wanted.stream().map(CaptureTrigger::bareFunctionName).toList();
    var installed = new LinkedHashMap<InstalledFunction, List<InstalledTrigger>>();
    for (var function : InstalledFunction.of(connection, capture.channel(), names)) {
      installed.put(function, InstalledTrigger.of(connection, function));
    }
    return new State(
        table,
        wanted,
        installed,
        asked(connection, SUBSCRIPTIONS, capture.channel()),
        table == null ? null : OwnerRole.of(connection, table));
  }

  /** The same where it is not known yet which subscriptions there will be. */
  State withSubscriptionsOf(ChannelRow row) {
    return row.changesSubscriptions() ? new State(table, wanted, installed, null, owner) : this;
  }

  /** What a function of pgonce says; null if there is none, or the connection may not ask it. */
  static @Nullable String asked(Connection connection, String sql, Object parameter)
      throws SQLException {
    if (!Schema.exists(connection)) {
      return null;
    }
    try {
      return Undone.during(
              connection,
              () ->
                  Statements.rows(
                      connection, sql, row -> Optional.ofNullable(row.getString(1)), parameter))
          .stream()
          .findFirst()
          .flatMap(answer -> answer)
          .orElse(null);
    } catch (SQLException e) {
      if (NO_RIGHT.equals(e.getSQLState())) {
        return null; // a role that may not install is told so, see InstallRights
      }
      throw e;
    }
  }

  @Nullable InstalledFunction function(CaptureTrigger wanted) {
    return installed.keySet().stream()
        .filter(function -> function.name().equals(wanted.bareFunctionName()))
        .findFirst()
        .orElse(null);
  }

  /** With whose rights the functions run: their owner's, or that which they are to get. */
  @Nullable String runsAs() {
    return wanted.stream()
        .map(this::function)
        .filter(Objects::nonNull)
        .map(InstalledFunction::owner)
        .findFirst()
        .orElse(owner);
  }

  /** Those that run the function, on whichever tables. */
  List<InstalledTrigger> triggersOf(InstalledFunction function) {
    return installed.getOrDefault(function, List.of());
  }

  /** Those on the table that run its function. */
  List<InstalledTrigger> triggersOnTable(CaptureTrigger wanted) {
    var function = function(wanted);
    return function == null
        ? List.of()
        : triggersOf(function).stream().filter(this::isOnTable).toList();
  }

  /** All triggers of the channel that are on other tables. */
  List<InstalledTrigger> triggersElsewhere() {
    return installed.values().stream()
        .flatMap(List::stream)
        .filter(trigger -> !isOnTable(trigger))
        .toList();
  }

  /** Of the functions that the definition takes, without the schema. */
  List<String> names() {
    return wanted.stream().map(CaptureTrigger::bareFunctionName).toList();
  }

  /** Functions of an earlier definition, which took others. */
  List<InstalledFunction> outdated() {
    var names = names();
    return installed.keySet().stream()
        .filter(function -> !names.contains(function.name()))
        .toList();
  }

  private boolean isOnTable(InstalledTrigger trigger) {
    return table != null && trigger.tableOid() == table.oid();
  }
}
