package org.pgonce.triggers;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.internal.store.Installation;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.internal.store.Rights;
import org.pgonce.records.internal.catalog.CallersTransaction;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.install.ChannelDrop;
import org.pgonce.triggers.internal.install.ChannelMigration;
import org.pgonce.triggers.internal.install.Installer;
import org.pgonce.triggers.internal.install.Orphans;
import org.pgonce.triggers.internal.install.Planner;
import org.pgonce.triggers.internal.install.TriggerFeed;

/**
 * The life of trigger channels in a database, step by step and on a connection of the caller's.
 * {@link org.pgonce.PgOnce#install} and {@link org.pgonce.PgOnce#start} do the same as {@link
 * #apply} and {@link #check}, on a connection of their own.
 *
 * <p>Safe for use by several threads, as far as their connections are different ones.
 */
public final class Triggers {

  // The moment that nobody can store is short, however many there are to drop.
  private static final int DROPPED_TOGETHER = 50;
  private static final Duration LONGEST_CALL = Duration.ofHours(1);

  private Triggers() {}

  /**
   * Compares definitions and database. Changes nothing, and takes no lock that a writer waits for.
   * SQL of a definition is planned, with the rights with which it would run, and not run. Where
   * schema pgonce has lost owners or rights, as after a restore without them, the plan is to give
   * them back: the next plan says what else is to be done.
   *
   * @throws SQLException if the database refuses; the role needs {@code pgonce_owner}, {@code
   *     pgonce_admin}, {@code pgonce_installer} or {@code pgonce_listener} where the schema is
   *     there
   */
  public static Plan plan(Connection connection, TriggerChannel<?>... channels)
      throws SQLException {
    ChannelNames.requireDifferent(channels);
    return CallersTransaction.read(
        connection,
        () -> {
          var damage = Rights.damage(connection);
          return damage == null ? planOf(connection, channels) : Planner.mending(damage);
        });
  }

  private static Plan planOf(Connection connection, TriggerChannel<?>... channels)
      throws SQLException {
    var plans = new ArrayList<Plan>();
    for (var channel : channels) {
      plans.add(new Planner(connection, channel, feed(channel)).plan());
    }
    return new Plan(
        plans.stream().flatMap(plan -> plan.changes().stream()).toList(),
        plans.stream().flatMap(plan -> plan.obstacles().stream()).toList(),
        plans.stream().flatMap(plan -> plan.warnings().stream()).toList());
  }

  /**
   * Makes the database as the channels are defined, within the caller's transaction, and neither
   * commits nor rolls it back: all channels or none. The schema must be there. Idempotent: no lock
   * on a table is taken if its channel is there. Otherwise the tables are tried for some 6 s, and
   * no writer of theirs waits for longer than 2 s in a try (0.8 s where several channels are
   * applied: their tables are locked together, or not at all), and then until the caller commits,
   * which should be at once. So call it once in a transaction, for all its channels. Other locks
   * are waited for as lock_timeout says.
   *
   * <p>Many channels at once, on tables whose writers' transactions stay open for seconds, may not
   * find a moment when all are free. Apply them one by one then, each in a transaction of its own,
   * as {@link org.pgonce.PgOnce#install} does.
   *
   * @throws PgOnceException if table and definition do not go together, rights are missing, or a
   *     table is in use, and by whom; roll back then
   * @throws IllegalStateException if the connection is in autocommit
   */
  public static void apply(Connection transaction, TriggerChannel<?>... channels)
      throws SQLException {
    requireTransaction(transaction, "apply");
    var ordered = inOneOrder(channels);
    CallersTransaction.change(
        transaction,
        () -> {
          for (var channel : ordered) {
            Installation.define(transaction, channel);
          }
          Installer.install(transaction, captures(ordered));
        });
  }

  /**
   * In what the database differs from the definitions, as {@link org.pgonce.PgOnce#start} finds it:
   * one line per difference, with what to do. It also lists what the start only warns of:
   * partitions that were detached, which is what partitions are made for; components that may be
   * null and have no column; rows that arrive by logical replication and fire no trigger; casts to
   * json of roles that are not trusted. Read-only.
   */
  public static List<String> check(Connection connection, TriggerChannel<?>... channels)
      throws SQLException {
    return CallersTransaction.read(
        connection,
        () -> {
          var damage = Rights.damage(connection);
          if (damage != null) {
            return List.of(damage);
          }
          var problems = new ArrayList<String>();
          for (var channel : channels) {
            for (var name : channel.options().names()) {
              problems.addAll(Installed.lookUp(connection, channel, name).problems(channel, name));
            }
            problems.addAll(feed(channel).differences(connection));
          }
          return problems;
        });
  }

  /**
   * What makes the database as the channels are defined, and what makes it again as it is now, as
   * scripts for psql, Flyway and Liquibase. The same as {@link #apply} does, and what it refuses
   * beside: a changed mode. Channels that code publishes to are taken as well. Read-only; takes no
   * lock on the tables.
   *
   * <p>The way back of a channel that is new drops it, and of one that is there brings back its
   * functions, with their owners, and triggers as PostgreSQL prints them, its mode, settings and
   * subscriptions. Rights that others were given on the functions are not.
   *
   * @throws IllegalArgumentException if two of the channels have the same name
   * @throws PgOnceException if a definition cannot be installed there, or the schema is missing
   * @throws SQLException if the database refuses; the role needs {@code pgonce_owner}
   */
  public static Migration migration(Connection connection, Channel<?>... channels)
      throws SQLException {
    Objects.requireNonNull(connection, "connection");
    var ordered = ChannelMigration.inOneOrder(channels);
    return CallersTransaction.read(connection, () -> ChannelMigration.of(connection, ordered));
  }

  /**
   * Removes triggers, functions and channels, with all notifications that wait in them, within the
   * caller's transaction: all channels or none. What is not there is no error. What waits is
   * deleted by the housekeeping of any listener in the database. Waits for no handler, but for
   * whoever uses the tables, readers too, and for whoever has published or settled something in any
   * channel: for some 6 s in all, and no other waits for longer than 0.8 s in a try, and then until
   * the caller commits, which should be at once: the server ends the session of one that does
   * nothing for 5 s.
   *
   * <p>Where transactions that write stay open for seconds, {@link #drop(DataSource,
   * TriggerChannel[])} comes through and this may not.
   *
   * @throws PgOnceException if a table is in use, and by whom; roll back then
   * @throws IllegalStateException if the connection is in autocommit
   */
  public static void drop(Connection transaction, TriggerChannel<?>... channels)
      throws SQLException {
    requireTransaction(transaction, "drop");
    var names = inOneOrder(channels).stream().map(TriggerChannel::name).toList();
    CallersTransaction.change(transaction, () -> ChannelDrop.all(transaction, names));
  }

  /**
   * Removes the same, in short transactions of its own: first the triggers, one by one, then the
   * channels, fifty at a time. No writer or reader of a table waits for longer than 2 s in a try
   * for a trigger, and no one who stores something longer than 2.5 s in one for channels; then come
   * the commit and, between two tries, a pause in which they pass. If it fails half-way, what was
   * dropped stays dropped, a channel whose trigger is gone stores nothing new, and dropping again
   * goes on where it stopped. Channels that are installed again after their triggers were dropped
   * are kept.
   *
   * @throws PgOnceException if a table is in use for some 6 s, and by whom
   * @throws SQLException also if a channel is installed again meanwhile (SQLState 2BP01), or if
   *     transactions that store something leave no moment free for some 16 s (55P03)
   */
  public static void drop(DataSource dataSource, TriggerChannel<?>... channels)
      throws SQLException {
    Objects.requireNonNull(dataSource, "dataSource");
    var names = inOneOrder(channels).stream().map(TriggerChannel::name).toList();
    for (var name : names) {
      drop(dataSource, transaction -> ChannelDrop.triggers(transaction, name));
    }
    for (var from = 0; from < names.size(); from += DROPPED_TOGETHER) {
      var some = names.subList(from, Math.min(names.size(), from + DROPPED_TOGETHER));
      drop(dataSource, transaction -> ChannelDrop.channels(transaction, some));
    }
  }

  /**
   * What is in the database and in none of the definitions: channels that code no longer defines,
   * those among them whose trigger is gone, and triggers and functions of channels that are not
   * installed. Only what pgonce made is among them. Read-only.
   *
   * @param channels all that there are, those that code publishes to as well: each other one of the
   *     database is an orphan
   * @throws SQLException if the database refuses; the role needs {@code pgonce_owner}
   */
  public static List<Orphan> orphans(Connection connection, Channel<?>... channels)
      throws SQLException {
    Objects.requireNonNull(connection, "connection");
    var defined = new HashSet<String>();
    for (var channel : channels) {
      defined.add(Objects.requireNonNull(channel, "a channel").name());
    }
    return CallersTransaction.read(connection, () -> Orphans.of(connection, defined));
  }

  /**
   * Removes orphans as {@link #orphans} listed them, with the notifications that they hold, in
   * short transactions of its own: for each its triggers, then the channel. Others wait for as long
   * as in {@link #drop(DataSource, TriggerChannel[])}. What is gone already is no error. If one
   * fails, those before it are dropped.
   *
   * @throws PgOnceException if one holds more notifications than was listed, or was installed
   *     since: then it is kept, with all that waits in it, and at most its triggers are gone; also
   *     if a table is in use for some 6 s, and by whom
   */
  public static void dropOrphans(DataSource dataSource, Collection<Orphan> orphans)
      throws SQLException {
    Objects.requireNonNull(dataSource, "dataSource");
    for (var orphan : List.copyOf(Objects.requireNonNull(orphans, "orphans"))) {
      drop(dataSource, transaction -> Orphans.dropTriggers(transaction, orphan));
      drop(dataSource, transaction -> Orphans.dropChannel(transaction, orphan));
    }
  }

  /** In a short transaction on its own connection, in which each lock is waited for 10 s. */
  private static void drop(DataSource dataSource, Transactions.Change change) throws SQLException {
    new Transactions(dataSource, LONGEST_CALL)
        .make(
            transaction -> {
              PinnedPath.pin(transaction);
              Installation.bound(transaction);
              change.on(transaction);
            });
  }

  /** Two that work on the same channels must not wait for each other. */
  private static List<TriggerChannel<?>> inOneOrder(TriggerChannel<?>... channels) {
    ChannelNames.requireDifferent(channels);
    return Stream.of(channels).sorted(Comparator.comparing(TriggerChannel::name)).toList();
  }

  private static List<Capture> captures(List<TriggerChannel<?>> channels) {
    return channels.stream().map(channel -> feed(channel).capture()).toList();
  }

  private static TriggerFeed feed(TriggerChannel<?> channel) {
    return (TriggerFeed) channel.feed();
  }

  private static void requireTransaction(Connection connection, String what) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          what + " needs a transaction, so that it happens as a whole: call setAutoCommit(false)");
    }
  }
}
