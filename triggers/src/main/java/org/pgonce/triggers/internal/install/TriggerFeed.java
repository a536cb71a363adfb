package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.pgonce.Channel;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;

/** Feeds a channel by a trigger. Immutable. */
public final class TriggerFeed implements ChannelFeed {

  // SET ROLE and not SET LOCAL: the statements may be run one by one.
  private static final String MIGRATION =
      """
      SELECT pg_catalog.pg_advisory_xact_lock(%d);
      %s""";

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
    new Installer(transaction, capture).install();
  }

  @Override
  public List<String> problems(Connection connection, Channel<?> channel) throws SQLException {
    var state = State.of(connection, capture);
    var problems = new ArrayList<>(Suitability.obstacles(connection, capture, state));
    var table = state.table();
    if (table != null && table.form().obstacle(table.name()) == null) {
      for (var outdated : state.outdated()) {
        problems.add(
            "function %s was made from an earlier definition: install the channel again"
                .formatted(CaptureFunction.name(outdated.name())));
      }
      for (var trigger : state.wanted()) {
        var form = FormDrift.problem(trigger, state, table);
        if (form != null) {
          problems.add(form);
          continue;
        }
        problems.addAll(new FunctionDrift(trigger, state).problems());
        if (state.function(trigger) != null) {
          problems.addAll(new TriggerDrift(trigger, state).problems(table.name()));
        }
      }
      problems.addAll(TriggerDrift.elsewhere(state, table.name()));
      problems.addAll(InstallRights.atWork(connection, state, table));
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
    return migration(TriggerSteps.fromNothing(capture));
  }

  static String migration(TriggerSteps steps) {
    return steps.isEmpty() ? "" : MIGRATION.formatted(Installer.lockKey(), steps.sql());
  }

  /** The SQL that removes functions and triggers. */
  public String downMigration() {
    return capture.triggers(false).stream()
        .map(trigger -> CaptureFunction.drop(trigger.bareFunctionName()))
        .collect(Collectors.joining("", "SET ROLE pgonce_owner;\n", "RESET ROLE;\n"));
  }
}
