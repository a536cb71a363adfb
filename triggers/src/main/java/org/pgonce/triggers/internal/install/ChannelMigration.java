package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.internal.store.Rights;
import org.pgonce.internal.store.Schema;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.Migration;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.Quoted;

/** The way of channels to their definition, and back to what the database had before. */
public final class ChannelMigration {

  // So that a way back sees what others commit while it waits for them, whatever the database's
  // default is. PostgreSQL refuses it behind a query of a transaction at another level.
  private static final String SEES_ALL = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;\n";

  private static final String SCHEMA_DOWN =
      SEES_ALL
          + """
      -- Removes pgonce with all its channels. Not while something waits in one: it would be lost.
      SET pgonce.refuses_loss = 'on';
      """;

  /**
   * What is done for one channel. A script has one transaction: so that what keeps the writers of a
   * table waiting waits for nothing that these may hold, each part comes for all channels before
   * the next one.
   *
   * @param rows of pgonce's tables
   * @param holdsWriters whether its rows' part keeps the writers of all channels waiting: then it
   *     comes last of these
   * @param functions and locks of pgonce's own
   * @param tables what needs the lock of a table
   * @param tablesBack comes first on the way back
   * @param rowsBack keeps the writers of all channels waiting
   */
  private record Parts(
      String rows,
      boolean holdsWriters,
      String functions,
      String tables,
      String tablesBack,
      String rowsBack) {

    static final Parts NONE = new Parts("", false, "", "", "", "");

    static Migration joined(List<Parts> all) {
      var back = new ArrayList<>(all);
      Collections.reverse(back);
      var down = join(back, Parts::tablesBack) + join(back, Parts::rowsBack);
      var ordered = all.stream().sorted(Comparator.comparing(Parts::holdsWriters)).toList();
      return new Migration(
          join(ordered, Parts::rows) + join(all, Parts::functions) + join(all, Parts::tables),
          down.isEmpty() ? "" : SEES_ALL + down);
    }

    private static String join(List<Parts> all, Function<Parts, String> part) {
      return all.stream().map(part).collect(Collectors.joining());
    }
  }

  private final Connection connection;
  private final Channel<?> channel;
  private final TriggerFeed feed;
  private final int waitMs;

  private ChannelMigration(
      Connection connection, Channel<?> channel, TriggerFeed feed, int waitMs) {
    this.connection = connection;
    this.channel = channel;
    this.feed = feed;
    this.waitMs = waitMs;
  }

  /** The schema and the way back from it. */
  public static Migration ofSchema() {
    return new Migration(
        Schema.script(), SCHEMA_DOWN + Schema.uninstallScript() + "RESET pgonce.refuses_loss;\n");
  }

  /** By name, so that two that work on the same channels do not wait for each other in a circle. */
  public static List<Channel<?>> inOneOrder(Channel<?>... channels) {
    ChannelNames.requireDifferent(channels);
    return Stream.of(channels)
        .sorted(Comparator.<Channel<?>, String>comparing(Channel::name))
        .toList();
  }

  /** For a database that has none of them, on ordinary tables. */
  public static Migration fromNothing(List<Channel<?>> channels) {
    var feeds = ChannelSql.feeds(channels);
    return Parts.joined(
        channels.stream()
            .map(
                channel ->
                    new Parts(
                        ChannelSql.install(channel),
                        false,
                        channel.feed().migration(channel, feeds),
                        "",
                        dropTables(channel, BoundedLock.inScriptMs(feeds)),
                        shortly(dropRow(channel))))
            .toList());
  }

  /** Drops triggers, function and channel, with all that waits in it. */
  public static String dropWithLoss(Channel<?> channel) {
    return dropFunction(channel, "", BoundedLock.LONGEST_WAIT_MS)
        + shortly(ChannelSql.drop(channel));
  }

  private static String dropTables(Channel<?> channel, int waitMs) {
    return "-- Drops channel %s. Not while something waits in it: it would be lost.\n"
            .formatted(channel.name())
        + dropFunction(channel, refuseWaiting(channel), waitMs);
  }

  private static String dropRow(Channel<?> channel) {
    return "SELECT pgonce.refuse_loss(%1$s);\nSELECT pgonce.drop_channel(%1$s);\n"
        .formatted(Quoted.literal(channel.name()));
  }

  // Before anybody has to wait, and while the triggers are there: the refusal says how to drop
  // both.
  private static String refuseWaiting(Channel<?> channel) {
    return OwnerRole.as(
        OwnerRole.OF_SCHEMA,
        "SELECT pgonce_private.refuse_waiting(%s, NULL, 0);\n"
            .formatted(Quoted.literal(channel.name())));
  }

  private static String dropFunction(Channel<?> channel, String before, int waitMs) {
    return channel.feed() instanceof TriggerFeed
        ? TriggerSteps.boundedScript(
            before
                + CaptureFunction.lockTables(channel.name())
                + OwnerRole.as(OwnerRole.OF_SCHEMA, CaptureFunction.drop(channel.name())),
            waitMs)
        : "";
  }

  // Of what keeps writers of all channels waiting, after it has the table.
  private static String shortly(String statements) {
    return TriggerSteps.boundedScript(statements, BoundedLock.LONGEST_TOGETHER_MS);
  }

  /**
   * For a database as it is.
   *
   * @throws PgOnceException if a definition cannot be installed there
   */
  public static Migration of(Connection connection, List<Channel<?>> channels) throws SQLException {
    var waitMs = BoundedLock.inScriptMs(ChannelSql.feeds(channels));
    var parts = new ArrayList<Parts>();
    for (var channel : channels) {
      parts.add(parts(connection, channel, waitMs));
    }
    return Parts.joined(parts);
  }

  private static Parts parts(Connection connection, Channel<?> channel, int waitMs)
      throws SQLException {
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
        ? new ChannelMigration(connection, channel, feed, waitMs).make()
        : ofPublished(connection, channel);
  }

  private static Parts ofPublished(Connection connection, Channel<?> channel) throws SQLException {
    var row = ChannelRow.of(connection, channel);
    var former = row.former(connection);
    refuse(channel, row.obstaclesToMigrate());
    if (row.isAsDefined()) {
      return Parts.NONE;
    }
    return former == null
        ? new Parts(row.up(null), false, "", "", dropTables(channel, 0), shortly(dropRow(channel)))
        : new Parts(row.up(former), row.changesMode(former), "", "", "", shortly(row.down(former)));
  }

  private Parts make() throws SQLException {
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
    if (row.isAsDefined() && steps.isEmpty()) {
      return Parts.NONE;
    }
    var isNew = former == null && state.function() == null;
    var holdsWriters = row.changesMode(former);
    return new Parts(
        row.isAsDefined() ? "" : row.up(former),
        holdsWriters,
        steps.functionScript(
            holdsWriters ? BoundedLock.LONGEST_TOGETHER_MS : BoundedLock.LONGEST_LOCK_MS),
        steps.tableScript(
            holdsWriters ? Math.min(waitMs, BoundedLock.LONGEST_TOGETHER_MS) : waitMs),
        isNew ? dropTables(channel, waitMs) : tablesBack(steps, state, table),
        row.isAsDefined() ? "" : shortly(former == null ? dropRow(channel) : row.down(former)));
  }

  private String tablesBack(TriggerSteps steps, State state, WatchedTable table)
      throws SQLException {
    var back =
        "-- Brings back what channel %s was before. What it has stored since then stays, and is read as that definition reads it.\n"
            .formatted(channel.name());
    if (steps.isEmpty()) {
      return back;
    }
    return back
        + Installer.lockScript(channel.name(), BoundedLock.LONGEST_LOCK_MS)
        + (state.function() == null
            ? dropFunction(channel, "", waitMs)
            : new FormerTriggers(connection, state, table.name()).restored(waitMs));
  }

  private static void refuse(Channel<?> channel, List<String> obstacles) {
    if (!obstacles.isEmpty()) {
      throw new PgOnceException(
          "pgonce cannot print a migration of channel %s:\n- %s"
              .formatted(channel.name(), String.join("\n- ", obstacles)));
    }
  }
}
