package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.Migration;
import org.pgonce.triggers.Plan;
import org.pgonce.triggers.Plan.Change;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;

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

  public Plan plan() throws SQLException {
    var subscriptions = new ArrayList<Installed>();
    for (var name : channel.options().names()) {
      subscriptions.add(Installed.lookUp(connection, channel, name));
    }
    var installed = subscriptions.get(0);
    var state = State.of(connection, capture);
    var obstacles = new ArrayList<>(installed.differences());
    obstacles.addAll(Suitability.obstacles(connection, capture, state));
    var table = state.table();
    planChannel(subscriptions);
    planFunction(state);
    if (table != null) {
      if (installed.schema() && !changes.isEmpty()) {
        obstacles.addAll(new Installer(connection, capture).obstacles(state, table));
      }
      planTrigger(state, table.name());
    }
    return new Plan(changes, obstacles, Suitability.warnings(table));
  }

  private void planChannel(List<Installed> subscriptions) {
    var installed = subscriptions.get(0);
    if (!installed.schema()) {
      add("create schema pgonce", List.of());
    }
    var wanted = Migration.channelOnly(channel).lines().toList();
    if (!installed.channel()) {
      add("create channel", LineDiff.between(List.of(), wanted));
    } else if (subscriptions.stream()
        .anyMatch(one -> one.subscription() == 0 || !one.outdated().isEmpty())) {
      add("change channel", LineDiff.between(List.of(), wanted));
    }
  }

  private void planFunction(State state) {
    var drift = new FunctionDrift(capture, state.function());
    if (drift.isToBeReplaced()) {
      var verb = state.function() == null ? "create" : "replace";
      add(verb + " function " + CaptureFunction.name(capture), drift.diff());
    }
  }

  private void planTrigger(State state, TableName table) {
    if (new TriggerDrift(capture, state).isToBeReplaced()) {
      var verb = state.triggersOnTable().isEmpty() ? "create" : "replace";
      var name = Quoted.identifier(CaptureTrigger.bareName(capture));
      add(
          "%s trigger %s on %s, which locks the table against writers for a moment"
              .formatted(verb, name, table),
          LineDiff.between(List.of(), CaptureTrigger.create(capture, table).lines().toList()));
    }
  }

  private void add(String summary, List<String> diff) {
    changes.add(new Change(capture.channel(), summary, diff));
  }
}
