package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.internal.store.Installed;
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

  /** For a schema that has lost owners or rights. */
  public static Plan mending(String damage) {
    return new Plan(
        List.of(new Change("*", "give schema pgonce its owners and rights back", List.of())),
        List.of(),
        List.of(damage));
  }

  public Plan plan() throws SQLException {
    var subscriptions = new ArrayList<Installed>();
    for (var name : channel.options().names()) {
      subscriptions.add(Installed.lookUp(connection, channel, name));
    }
    var installed = subscriptions.get(0);
    var state = State.of(connection, capture);
    var obstacles = new ArrayList<String>();
    for (var difference :
        installed.differences(channel, channel.options().names().iterator().next())) {
      if (!difference.isMendedByInstall()) {
        obstacles.add(difference.sentence());
      }
    }
    obstacles.addAll(Suitability.obstacles(connection, capture, state));
    var table = state.table();
    planChannel(subscriptions);
    for (var outdated : state.outdated()) {
      var before = new ArrayList<String>();
      for (var trigger : state.installed().getOrDefault(outdated, List.of())) {
        before.addAll(TriggerText.lines(trigger, CaptureFunction.name(outdated.name())));
      }
      before.add(outdated.comment());
      add(
          "drop function %s and its trigger, which locks the table for a moment"
              .formatted(CaptureFunction.name(outdated.name())),
          LineDiff.between(before, List.of()));
    }
    for (var trigger : state.wanted()) {
      planFunction(trigger, state);
    }
    if (table != null) {
      if (installed.schema() && !changes.isEmpty()) {
        obstacles.addAll(new Installer(connection, capture).obstacles(state, table));
      }
      for (var trigger : state.wanted()) {
        planTrigger(trigger, state, table.name());
      }
    }
    var warnings = new ArrayList<String>();
    if (table != null) {
      for (var trigger : state.wanted()) {
        Stream.ofNullable(FormDrift.problem(trigger, state, table)).forEach(warnings::add);
      }
    }
    warnings.addAll(Suitability.warnings(connection, capture, state));
    return new Plan(changes, obstacles, warnings);
  }

  private void planChannel(List<Installed> subscriptions) {
    var installed = subscriptions.get(0);
    if (!installed.schema()) {
      add("create schema pgonce", List.of());
    }
    var wanted = ChannelSql.install(channel).lines().toList();
    if (!installed.channel()) {
      add("create channel", LineDiff.between(List.of(), wanted));
    } else {
      var diff = new ArrayList<String>();
      var names = channel.options().names().iterator();
      var added = new ArrayList<String>();
      for (var one : subscriptions) {
        var name = names.next();
        for (var difference : one.differences(channel, name)) {
          if (difference.isMendedByInstall()) {
            diff.add("- " + difference.what() + ": " + difference.installed());
            diff.add("+ " + difference.what() + ": " + difference.defined());
          }
        }
        if (one.subscription() == 0) {
          added.add("+ subscription " + name);
        }
      }
      diff.addAll(added);
      if (!diff.isEmpty()) {
        wanted.forEach(line -> diff.add("+ " + line));
        add("change channel", diff.stream().distinct().toList());
      }
    }
  }

  private void planFunction(CaptureTrigger trigger, State state) {
    var drift = new FunctionDrift(trigger, state);
    if (drift.isToBeReplaced()) {
      var verb = state.function(trigger) == null ? "create" : "replace";
      add(verb + " function " + new CaptureFunction(trigger).name(), drift.diff());
    }
  }

  private void planTrigger(CaptureTrigger trigger, State state, TableName table) {
    var drift = new TriggerDrift(trigger, state);
    var function = new CaptureFunction(trigger).name();
    for (var surplus : drift.surplus()) {
      add(
          "drop trigger %s on %s, which runs the same function, and locks the table for a moment"
              .formatted(Quoted.identifier(surplus.name()), table),
          LineDiff.between(TriggerText.lines(surplus, function), List.of()));
    }
    if (drift.isToBeReplaced()) {
      var before =
          drift.replaced().map(there -> TriggerText.lines(there, function)).orElse(List.of());
      var verb = before.isEmpty() ? "create" : "replace";
      add(
          "%s trigger %s on %s, which locks the table against writers for a moment"
              .formatted(verb, Quoted.identifier(trigger.bareName()), table),
          LineDiff.between(before, trigger.create(table).lines().toList()));
    }
  }

  private void add(String summary, List<String> diff) {
    changes.add(new Change(capture.channel(), summary, diff));
  }
}
