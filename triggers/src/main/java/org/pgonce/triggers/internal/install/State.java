package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;

/**
 * What the database has of a capture, beside what it is to have. Read from the catalogs only: no
 * right is needed, and no lock on the table is taken.
 *
 * @param wanted the function that the definition takes on this table, with its triggers
 * @param function the channel's, as it is there; null if there is none
 * @param triggers all that run it, on whichever tables and by whichever names
 * @param subscriptions as pgonce.subscriptions_sql has them; null if they are not known
 * @param owner to whom the function is to belong, see {@link OwnerRole#of}
 */
record State(
    @Nullable WatchedTable table,
    CaptureFunction wanted,
    @Nullable InstalledFunction function,
    List<InstalledTrigger> triggers,
    @Nullable String subscriptions,
    @Nullable String owner) {

  private static final String NO_RIGHT = "42501";
  private static final String SUBSCRIPTIONS = "SELECT pgonce.subscriptions_sql(?)";

  static State of(Connection connection, Capture capture) throws SQLException {
    var table = WatchedTable.find(connection, capture.table());
    var function = InstalledFunction.find(connection, capture.channel());
    return new State(
        table,
        capture.function(table == null ? WatchedTable.unknown(capture.table()) : table),
        function,
        function == null ? List.of() : InstalledTrigger.of(connection, function),
        answer(connection, SUBSCRIPTIONS, capture.channel()),
        table == null ? null : OwnerRole.of(connection, table));
  }

  /** The same where it is not known yet which subscriptions there will be. */
  State withSubscriptionsOf(ChannelRow row) {
    return row.changesSubscriptions()
        ? new State(table, wanted, function, triggers, null, owner)
        : this;
  }

  /** What a function of pgonce says; null if there is none, or the connection may not ask it. */
  static @Nullable String answer(Connection connection, String sql, Object... parameters)
      throws SQLException {
    if (!Schema.exists(connection)) {
      return null;
    }
    try {
      return RollbackScope.during(
              connection,
              () ->
                  Statements.rows(
                      connection, sql, row -> Optional.ofNullable(row.getString(1)), parameters))
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

  /** With whose rights the function runs: its owner's, or that which it is to get. */
  @Nullable String runsAs() {
    return function == null ? owner : function.owner();
  }

  /** Those on the table, whatever they fire after. */
  List<InstalledTrigger> triggersOnTable() {
    return triggers.stream().filter(this::isOnTable).toList();
  }

  /** Those on the table that fire after the same event. */
  List<InstalledTrigger> triggersOnTable(CaptureTrigger wanted) {
    return triggersOnTable().stream()
        .filter(trigger -> trigger.event().equals(wanted.event().name()))
        .toList();
  }

  /** Those that are on other tables. */
  List<InstalledTrigger> triggersElsewhere() {
    return triggers.stream().filter(trigger -> !isOnTable(trigger)).toList();
  }

  private boolean isOnTable(InstalledTrigger trigger) {
    return table != null && trigger.tableOid() == table.oid();
  }
}
