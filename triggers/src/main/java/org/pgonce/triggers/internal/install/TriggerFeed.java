package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.triggers.Unstorable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Content.Selection;

/** Feeds a channel by a trigger. Immutable. */
public final class TriggerFeed implements ChannelFeed {

  private final Capture capture;

  public TriggerFeed(Capture capture) {
    this.capture = capture;
  }

  public Capture capture() {
    return capture;
  }

  @Override
  public String description() {
    return capture.feed();
  }

  @Override
  public void install(Connection transaction, Channel<?> channel) throws SQLException {
    Installer.install(transaction, List.of(capture));
  }

  @Override
  public List<String> problems(Connection connection, Channel<?> channel) throws SQLException {
    var state = State.of(connection, capture);
    var problems = new ArrayList<>(Suitability.obstacles(connection, capture, state));
    var table = state.table();
    if (table != null && table.obstacle() == null) {
      for (var outdated : state.outdated()) {
        problems.add(
            "function %s was made from an earlier definition: install the channel again"
                .formatted(outdated.sqlName()));
      }
      for (var trigger : state.wanted()) {
        var function = new FunctionDrift(trigger, state);
        var form = function.formProblem(table);
        if (form != null) {
          problems.add(form);
          continue;
        }
        problems.addAll(function.problems());
        if (state.function(trigger) != null) {
          problems.addAll(new TriggerDrift(trigger, state).problems(table.name()));
        }
      }
      problems.addAll(TriggerDrift.elsewhere(state, table.name()));
    }
    return named(problems);
  }

  @Override
  public List<String> warnings(Connection connection, Channel<?> channel) throws SQLException {
    return named(Suitability.warnings(connection, capture, State.of(connection, capture)));
  }

  /** Those of the warnings that {@link org.pgonce.triggers.Triggers#check} is to tell as well. */
  public List<String> concerns(Connection connection) throws SQLException {
    return named(Suitability.concerns(connection, capture, State.of(connection, capture)));
  }

  private List<String> named(List<String> problems) {
    return problems.stream()
        .map(problem -> "channel " + capture.channel() + ": " + problem)
        .toList();
  }

  @Override
  public String migration(Channel<?> channel) {
    var depends = dependsOnTable();
    if (depends != null) {
      throw new PgOnceException(
          "pgonce cannot print channel %s without a look at table %s, as %s: print it with Triggers.migration(connection, …)"
              .formatted(channel.name(), capture.table(), depends));
    }
    return TriggerSteps.fromNothing(capture).migration();
  }

  /** What of the function depends on the table's columns, as a sentence; null if nothing does. */
  private @Nullable String dependsOnTable() {
    var stored = capture.stored();
    var selection = stored.content().selection();
    if (!capture.expressions().isEmpty()) {
      return "its SQL gets the types of the columns";
    }
    if (selection == Selection.WITHOUT || selection == Selection.PRIMARY_KEY) {
      return "its function names the columns that this has";
    }
    if (!stored.keys().uses().isEmpty()) {
      return "its keys depend on the types of their columns";
    }
    if (stored.unstorable() == Unstorable.DEAD_LETTER) {
      return "its dead letters show the primary key";
    }
    return capture.triggers(WatchedTable.unknown(capture.table())).stream()
            .anyMatch(CaptureTrigger::namesColumnsPerRow)
        ? "its triggers per row name columns, and notice by the table when it is altered"
        : null;
  }

  /** Those that the channel's triggers run, if the table is like this. */
  List<CaptureFunction> functions(WatchedTable table) {
    return capture.triggers(table).stream().map(CaptureFunction::new).toList();
  }
}
