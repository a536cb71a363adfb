package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.triggers.Plan;
import org.pgonce.triggers.Plan.Change;
import org.pgonce.triggers.internal.definition.Capture;

/** Says what installing a channel would do. */
public final class Planner {

  private final Connection connection;
  private final Channel<?> channel;
  private final Capture capture;
  private final List<Change> changes = new ArrayList<>();

  public Planner(Connection connection, Channel<?> channel, TriggerFeed feed) {
    this.connection = connection;
    this.channel = channel;
    this.capture = feed.capture();
  }

  /** For a schema that has lost owners or rights. */
  public static Plan mending(String damage) {
    return new Plan(
        List.of(new Change("*", "give schema pgonce its owners and rights back", List.of())),
        List.of(),
        List.of(damage));
  }

  public Plan plan() throws SQLException {
    var row = ChannelRow.of(connection, channel);
    var state = State.of(connection, capture).withSubscriptionsOf(row);
    var obstacles = new ArrayList<>(row.obstacles());
    obstacles.addAll(Suitability.obstacles(connection, capture, state));
    planChannel(row);
    var warnings = new ArrayList<String>();
    var table = state.table();
    if (table != null) {
      var steps = new TriggerSteps(capture, state, table);
      if (steps.replacesFunction()) {
        add(steps.functionSummary(), steps.functionDiff());
      }
      steps.tableChanges().forEach(this::add);
      if (row.hasSchema() && !changes.isEmpty()) {
        obstacles.addAll(new Installer(connection, capture).obstacles(state, table));
      }
      Stream.ofNullable(new FunctionDrift(state).formProblem()).forEach(warnings::add);
    }
    warnings.addAll(Suitability.warnings(connection, capture, state));
    return new Plan(changes, obstacles, warnings);
  }

  private void planChannel(ChannelRow row) {
    if (!row.hasSchema()) {
      add("create schema pgonce", List.of());
    }
    if (row.isNew()) {
      var install = ChannelSql.install(channel).lines().toList();
      add("create channel", LineDiff.between(List.of(), install));
    } else if (!row.diff().isEmpty()) {
      add("change channel", row.diff());
    }
  }

  private void add(TableChange change) {
    add(change.what().summary(), change.what().diff());
  }

  private void add(String summary, List<String> diff) {
    changes.add(new Change(capture.channel(), summary, diff));
  }
}
