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
    return named(problems(connection, State.of(connection, capture)));
  }

  private List<String> problems(Connection connection, State state) throws SQLException {
    var problems = new ArrayList<>(Suitability.obstacles(connection, capture, state));
    var table = state.table();
    if (table != null && table.obstacle() == null) {
      var function = new FunctionDrift(state);
      var form = function.formProblem();
      if (form != null) {
        problems.add(form);
      } else {
        problems.addAll(function.problems());
        if (state.function() != null) {
          for (var trigger : state.wanted().triggers()) {
            problems.addAll(new TriggerDrift(trigger, state).problems(table.name()));
          }
        }
      }
      problems.addAll(TriggerDrift.others(state, table.name()));
    }
    return problems;
  }

  @Override
  public List<String> warnings(Connection connection, Channel<?> channel) throws SQLException {
    return named(Suitability.warnings(connection, capture, State.of(connection, capture)));
  }

  /** The problems, and those of the warnings that are differences too. */
  public List<String> differences(Connection connection) throws SQLException {
    var state = State.of(connection, capture);
    var differences = new ArrayList<>(problems(connection, state));
    differences.addAll(Suitability.concerns(connection, capture, state));
    return named(differences);
  }

  private List<String> named(List<String> problems) {
    return problems.stream()
        .map(problem -> "channel " + capture.channel() + ": " + problem)
        .toList();
  }

  @Override
  public String migration(Channel<?> channel, int feeds) {
    var depends = dependsOnTable();
    if (depends != null) {
      throw new PgOnceException(
          "pgonce cannot print channel %s without a look at table %s, as %s: print it with Triggers.migration(connection, …)"
              .formatted(channel.name(), capture.table(), depends));
    }
    var steps = TriggerSteps.fromNothing(capture);
    return steps.functionScript(BoundedLock.LONGEST_LOCK_MS)
        + steps.tableScript(BoundedLock.inScriptMs(feeds));
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
    return capture.function(WatchedTable.unknown(capture.table())).triggers().stream()
            .anyMatch(CaptureTrigger::namesColumnsPerRow)
        ? "its triggers per row name columns, and notice by the table when it is altered"
        : null;
  }
}
