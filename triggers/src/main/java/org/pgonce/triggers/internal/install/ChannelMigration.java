package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.internal.store.Rights;
import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.Migration;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.Quoted;

/** One channel's way to its definition, and back to what the database had before. */
public final class ChannelMigration {

  private static final String SCHEMA_DOWN =
      """
      -- Removes pgonce with all its channels. Not while something waits in one: it would be lost.
      SET lock_timeout = '800 ms';
      DO $$
      BEGIN
        IF pg_catalog.to_regnamespace('pgonce') IS NOT NULL THEN
          PERFORM pgonce.refuse_loss(NULL);
        END IF;
      END
      $$;
      """;

  private final Connection connection;
  private final Channel<?> channel;
  private final TriggerFeed feed;

  private ChannelMigration(Connection connection, Channel<?> channel, TriggerFeed feed) {
    this.connection = connection;
    this.channel = channel;
    this.feed = feed;
  }

  /** The schema and the way back from it. */
  public static Migration ofSchema() {
    return new Migration(
        Schema.script(), SCHEMA_DOWN + Schema.uninstallScript() + "RESET lock_timeout;\n");
  }

  /** By name, so that two that work on the same channels do not wait for each other in a circle. */
  public static List<Channel<?>> inOneOrder(Channel<?>... channels) {
    ChannelNames.requireDifferent(channels);
    return Stream.of(channels)
        .sorted(Comparator.<Channel<?>, String>comparing(Channel::name))
        .toList();
  }

  /** For a database that has none of it, on an ordinary table. */
  public static Migration fromNothing(Channel<?> channel) {
    return new Migration(ChannelSql.installWithFeed(channel), dropAll(channel));
  }

  /** Drops triggers, function and channel, with all that waits in it. */
  public static String dropWithLoss(Channel<?> channel) {
    return dropFunction(channel) + shortly(ChannelSql.drop(channel));
  }

  private static String dropAll(Channel<?> channel) {
    return "-- Drops channel %s. Not while something waits in it: it would be lost.\n"
            .formatted(channel.name())
        + dropFunction(channel)
        + shortly(dropRow(channel));
  }

  private static String dropRow(Channel<?> channel) {
    return "SELECT pgonce.refuse_loss(%1$s);\nSELECT pgonce.drop_channel(%1$s);\n"
        .formatted(Quoted.literal(channel.name()));
  }

  private static String dropFunction(Channel<?> channel) {
    return channel.feed() instanceof TriggerFeed
        ? TriggerSteps.boundedScript(
            CaptureFunction.lockTables(channel.name())
                + OwnerRole.as(OwnerRole.OF_SCHEMA, CaptureFunction.drop(channel.name())),
            BoundedLock.LONGEST_WAIT_MS)
        : "";
  }

  // Of what keeps writers of all channels waiting, after it has the table.
  private static String shortly(String statements) {
    return TriggerSteps.boundedScript(statements, BoundedLock.LONGEST_TOGETHER_MS);
  }

  /**
   * For a database as it is.
   *
   * @throws PgOnceException if the definition cannot be installed there
   */
  public static Migration of(Connection connection, Channel<?> channel) throws SQLException {
    if (!Schema.exists(connection)) {
      throw new PgOnceException(
          "pgonce cannot compare channel %s with what is installed: schema pgonce is missing; run Migration.ofSchema() first, or print Migration.of(channel)"
              .formatted(channel.name()));
    }
    var damage = Rights.damage(connection);
    if (damage != null) {
      throw new PgOnceException(
          "pgonce cannot print a migration of channel %s: %s".formatted(channel.name(), damage));
    }
    return channel.feed() instanceof TriggerFeed feed
        ? new ChannelMigration(connection, channel, feed).make()
        : ofPublished(connection, channel);
  }

  private static Migration ofPublished(Connection connection, Channel<?> channel)
      throws SQLException {
    var row = ChannelRow.of(connection, channel);
    var former = row.former(connection);
    refuse(channel, row.obstaclesToMigrate());
    return row.isAsDefined()
        ? new Migration("", "")
        : new Migration(
            row.up(former), former == null ? dropAll(channel) : shortly(row.down(former)));
  }

  private Migration make() throws SQLException {
    var capture = feed.capture();
    var row = ChannelRow.of(connection, channel);
    var former = row.former(connection);
    var state = State.of(connection, capture).withSubscriptionsOf(row);
    var obstacles = new ArrayList<>(row.obstaclesToMigrate());
    obstacles.addAll(Suitability.obstacles(connection, capture, state));
    var table = state.table();
    if (table != null) {
      obstacles.addAll(new Installer(connection, capture).obstacles(state, table));
    }
    refuse(channel, obstacles);
    var steps = new TriggerSteps(capture, state, Objects.requireNonNull(table));
    var up = (row.isAsDefined() ? "" : row.up(former)) + steps.migration();
    if (up.isEmpty()) {
      return new Migration("", "");
    }
    if (former == null && state.function() == null) {
      return new Migration(up, dropAll(channel));
    }
    var down = new StringBuilder();
    down.append(
        "-- Brings back what channel %s was before. What it has stored since then stays, and is read as that definition reads it.\n"
            .formatted(channel.name()));
    if (!steps.isEmpty()) {
      down.append(Installer.lockScript(channel.name()));
      down.append(
          state.function() == null
              ? dropFunction(channel)
              : new FormerTriggers(connection, state, table.name()).restored());
    }
    if (!row.isAsDefined()) {
      down.append(shortly(former == null ? dropRow(channel) : row.down(former)));
    }
    return new Migration(up, down.toString());
  }

  private static void refuse(Channel<?> channel, List<String> obstacles) {
    if (!obstacles.isEmpty()) {
      throw new PgOnceException(
          "pgonce cannot print a migration of channel %s:\n- %s"
              .formatted(channel.name(), String.join("\n- ", obstacles)));
    }
  }
}
