package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.catalog.Column;
import org.pgonce.triggers.internal.catalog.Columns;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Content.Selection;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.fit.KeyFit;
import org.pgonce.triggers.internal.fit.RecordFit;
import org.pgonce.triggers.internal.fit.RecordRemarks;

/** Whether a table can feed a channel at all, and whether its rows can be read. */
final class Suitability {

  // Subscriptions that the definition does not name stay as they are installed.
  private static final String FILTERED =
      "SELECT why FROM pgonce.deferred_with_filter(?, true) AS why WHERE why IS NOT NULL";

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
      if (capture.stored().content().selection() == Selection.PRIMARY_KEY
          && Columns.primaryKey(connection, table).isEmpty()) {
        obstacles.add(
            "table %s has no primary key, and the channel stores nothing but that: add one, or name the columns with columns(…)"
                .formatted(table.name()));
      }
      var rowType = capture.rowType();
      if (rowType != null) {
        obstacles.addAll(
            RecordFit.misfits(rowType, table.name(), shown(connection, capture, table, columns)));
      }
      obstacles.addAll(KeyFit.misfits(capture.columnUses(), table.name(), columns));
      obstacles.addAll(ExpressionFit.problems(connection, capture, table));
    }
    if (isDeferred(state) && Schema.exists(connection)) {
      obstacles.addAll(CatalogLines.of(connection, FILTERED, capture.channel()));
    }
    return obstacles;
  }

  private static boolean isDeferred(State state) {
    return state.wanted().stream().anyMatch(trigger -> trigger.form() == TriggerForm.DEFERRED);
  }

  /** The columns that a payload has. */
  private static List<Column> shown(
      Connection connection, Capture capture, WatchedTable table, List<Column> columns)
      throws SQLException {
    var content = capture.stored().content();
    var keyed = content.selection() == Selection.PRIMARY_KEY;
    var key = keyed ? Columns.primaryKey(connection, table) : List.<String>of();
    return columns.stream()
        .filter(column -> keyed ? key.contains(column.name()) : content.shows(column.name()))
        .toList();
  }

  /** What works otherwise than one may expect. */
  static List<String> warnings(Connection connection, Capture capture, State state)
      throws SQLException {
    var table = state.table();
    if (table == null) {
      return List.of();
    }
    var warnings =
        new ArrayList<>(
            table
                .form()
                .warnings(
                    table.name(),
                    firesPerStatement(state),
                    capture.events().contains(Event.TRUNCATE)));
    if (isDeferred(state)) {
      warnings.add(
          "a deferred trigger fires at the end of a transaction: one that has written table %s cannot TRUNCATE or ALTER it before («pending trigger events»), but after SET CONSTRAINTS ALL IMMEDIATE"
              .formatted(table.name()));
    }
    var schema = Objects.requireNonNull(table.name().schema());
    if (state.wanted().stream().anyMatch(trigger -> trigger.plansForEachRowIn(schema))) {
      warnings.add(
          "a trigger per row that names columns makes a plan for each row where the definition does not say that its table is "
              + table.name()
              + ": give it with the schema, and the plan is kept");
    }
    warnings.addAll(concerns(connection, capture, state));
    return warnings;
  }

  /**
   * What has become of the table since the channel was defined or installed, and costs
   * notifications, or values in them, or safety: no reason not to start, but a difference.
   */
  static List<String> concerns(Connection connection, Capture capture, State state)
      throws SQLException {
    var table = state.table();
    if (table == null || table.form().obstacle(table.name()) != null) {
      return List.of();
    }
    var concerns = new ArrayList<>(DetachedPartitions.warnings(connection, capture, table));
    var missed = table.form().missedPerStatement(table.name());
    if (missed != null && firesPerStatement(state)) {
      concerns.add(missed);
    }
    concerns.addAll(Replication.concerns(connection, capture, state, table));
    concerns.addAll(UntrustedCasts.of(connection, table));
    var rowType = capture.rowType();
    if (rowType != null) {
      var columns = Columns.of(connection, table);
      concerns.addAll(RecordRemarks.unread(rowType, table.name(), columns));
    }
    return concerns;
  }

  private static boolean firesPerStatement(State state) {
    return state.wanted().stream()
        .filter(trigger -> trigger.event() != Event.TRUNCATE)
        .anyMatch(trigger -> trigger.form() == TriggerForm.STATEMENT);
  }

  private static String missing(Connection connection, Capture capture, State state)
      throws SQLException {
    var missing = WatchedTable.missing(connection, capture.table());
    var elsewhere = state.triggersElsewhere().stream().map(InstalledTrigger::table).toList();
    return elsewhere.isEmpty()
        ? missing
        : missing
            + ". The channel's trigger is on "
            + elsewhere.get(0)
            + ": was the table renamed?";
  }
}
