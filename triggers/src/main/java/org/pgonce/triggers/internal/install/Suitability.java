package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.records.internal.fit.RecordFit;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Content.Selection;
import org.pgonce.triggers.internal.definition.Event;

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
    var form = table.obstacle();
    if (form != null) {
      obstacles.add(form);
    } else {
      if (selection(capture) == Selection.PRIMARY_KEY && table.primaryKey().isEmpty()) {
        obstacles.add(
            "table %s has no primary key, and the channel stores nothing but that: add one, or name the columns with columns(…)"
                .formatted(table.name()));
      }
      var rowType = capture.rowType();
      if (rowType != null) {
        obstacles.addAll(RecordFit.misfits(rowType, table.name(), shown(capture, table)));
      }
      obstacles.addAll(KeyFit.misfits(capture.columnUses(), table.name(), table.columns()));
      // Of a role that the connection may not be able to act as nothing is known.
      var runsAs = Objects.equals(state.runsAs(), state.owner()) ? state.owner() : null;
      obstacles.addAll(ExpressionFit.problems(connection, capture, table, runsAs));
    }
    if (isDeferred(state) && Schema.exists(connection)) {
      obstacles.addAll(
          Statements.rows(connection, FILTERED, row -> row.getString(1), capture.channel()));
    }
    return obstacles;
  }

  private static boolean isDeferred(State state) {
    return state.wanted().triggers().stream().anyMatch(CaptureTrigger::isConstraint);
  }

  private static Selection selection(Capture capture) {
    return capture.stored().content().selection();
  }

  /** The columns that a payload has. */
  private static List<Column> shown(Capture capture, WatchedTable table) {
    var content = capture.stored().content();
    return table.columns().stream()
        .filter(
            column ->
                selection(capture) == Selection.PRIMARY_KEY
                    ? table.primaryKey().contains(column.name())
                    : content.shows(column.name()))
        .toList();
  }

  /** What works otherwise than one may expect. */
  static List<String> warnings(Connection connection, Capture capture, State state)
      throws SQLException {
    var table = state.table();
    if (table == null) {
      return List.of();
    }
    var truncate = capture.events().contains(Event.TRUNCATE);
    var warnings =
        new ArrayList<>(
            TableRelations.warnings(
                table.form(), table.name(), firesPerStatement(state), truncate));
    if (isDeferred(state)) {
      warnings.add(
          "a deferred trigger fires at the end of a transaction: one that has written table %s cannot TRUNCATE or ALTER it before («pending trigger events»), but after SET CONSTRAINTS ALL IMMEDIATE"
              .formatted(table.name()));
    }
    Stream.ofNullable(new FunctionDrift(state).earlierVersion()).forEach(warnings::add);
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
    if (table == null || table.obstacle() != null) {
      return List.of();
    }
    var concerns = new ArrayList<String>();
    if (firesPerStatement(state)) {
      Stream.ofNullable(TableRelations.missedPerStatement(table.form(), table.name()))
          .forEach(concerns::add);
    }
    Stream.ofNullable(new FunctionDrift(state).concern()).forEach(concerns::add);
    concerns.addAll(Concerns.of(connection, capture.channel(), state, table));
    var rowType = capture.rowType();
    if (rowType != null) {
      concerns.addAll(RecordFit.unread(rowType, table.name(), table.columns()));
    }
    return concerns;
  }

  private static boolean firesPerStatement(State state) {
    return state.wanted().triggers().stream()
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
