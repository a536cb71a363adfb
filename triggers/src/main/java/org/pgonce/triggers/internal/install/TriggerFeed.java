package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Feeds a channel by a trigger. Immutable. */
public final class TriggerFeed implements ChannelFeed {

  private static final Logger LOG = LoggerFactory.getLogger(TriggerFeed.class);

  // SET ROLE and not SET LOCAL: the statements may be run one by one.
  private static final String MIGRATION =
      """
      SELECT pg_advisory_xact_lock(%d);
      SET ROLE pgonce_owner;
      %sRESET ROLE;
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
    return capture.description();
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
      problems.addAll(new FunctionDrift(capture, state.function()).problems());
      if (state.function() != null) {
        problems.addAll(new TriggerDrift(capture, state).problems(table.name()));
      }
    }
    for (var warning : Suitability.warnings(table)) {
      LOG.warn("pgonce: channel {}: {}", capture.channel(), warning);
    }
    return problems.stream()
        .map(problem -> "channel " + capture.channel() + ": " + problem)
        .toList();
  }

  @Override
  public String migration(Channel<?> channel) {
    return MIGRATION.formatted(
        Installer.lockKey(),
        CaptureFunction.create(capture),
        CaptureTrigger.create(capture, capture.table()));
  }

  /** The SQL that removes function and trigger. */
  public String downMigration() {
    return "SET ROLE pgonce_owner;\n" + CaptureFunction.drop(capture) + "RESET ROLE;\n";
  }
}
