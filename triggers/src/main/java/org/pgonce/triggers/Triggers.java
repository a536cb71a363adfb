package org.pgonce.triggers;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.pgonce.PgOnceException;
import org.pgonce.internal.store.Installation;
import org.pgonce.internal.store.Installed;
import org.pgonce.triggers.internal.fit.Comparison;
import org.pgonce.triggers.internal.fit.RowType;
import org.pgonce.triggers.internal.install.Installer;
import org.pgonce.triggers.internal.install.Planner;
import org.pgonce.triggers.internal.install.TriggerFeed;
import org.pgonce.triggers.internal.source.RecordSource;

/**
 * The life of trigger channels in a database, step by step and on a connection of the caller's.
 * {@link org.pgonce.PgOnce#install} and {@link org.pgonce.PgOnce#start} do the same as {@link
 * #apply} and {@link #check}, on a connection of their own.
 *
 * <p>Safe for use by several threads, as far as their connections are different ones.
 */
public final class Triggers {

  private Triggers() {}

  /**
   * Compares definitions and database, read-only. Takes no lock on the tables.
   *
   * @throws SQLException if the database refuses; the role needs {@code pgonce_owner}, {@code
   *     pgonce_admin} or {@code pgonce_listener} where the schema is there
   */
  public static Plan plan(Connection connection, TriggerChannel<?>... channels)
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
   * commits nor rolls it back. The schema must be there. Idempotent: no lock on a table is taken if
   * its channel is there. Otherwise a table's lock is tried for some 6 s, and makes its writers
   * wait for 1.5 s at most; other locks are waited for as lock_timeout says.
   *
   * @throws PgOnceException if table and definition do not go together, rights are missing, or the
   *     table is in use; roll back then
   * @throws IllegalStateException if the connection is in autocommit
   */
  public static void apply(Connection transaction, TriggerChannel<?>... channels)
      throws SQLException {
    requireTransaction(transaction, "apply");
    for (var channel : inOneOrder(channels)) {
      Installation.install(transaction, channel);
    }
  }

  /**
   * In what the database differs from the definitions, as {@link org.pgonce.PgOnce#start} finds it:
   * one line per difference, with what to do. Read-only.
   */
  public static List<String> check(Connection connection, TriggerChannel<?>... channels)
      throws SQLException {
    var problems = new ArrayList<String>();
    for (var channel : channels) {
      for (var name : channel.options().names()) {
        problems.addAll(Installed.lookUp(connection, channel, name).problems(channel, name));
      }
      problems.addAll(channel.feed().problems(connection, channel));
    }
    return problems;
  }

  /**
   * Removes triggers, functions and channels, with all notifications that wait in them, within the
   * caller's transaction. Waits for whoever uses the tables, readers too, as {@link #apply} does.
   * What is not there is no error.
   *
   * @throws PgOnceException if a table is in use; roll back then
   * @throws IllegalStateException if the connection is in autocommit
   */
  public static void drop(Connection transaction, TriggerChannel<?>... channels)
      throws SQLException {
    requireTransaction(transaction, "drop");
    for (var channel : inOneOrder(channels)) {
      new Installer(transaction, feed(channel).capture()).drop();
      Installation.drop(transaction, channel);
    }
  }

  /**
   * A record for a table, as Java source that compiles: a component per column, of the type that
   * {@linkplain org.pgonce.triggers the package} documents and named as Java names are, records for
   * composite types, enums for enums, and at its end the channel of its new rows. It can be a file
   * of its own, or a member of a class (with the imports above that). Columns that no trigger sees,
   * and those that a record has no room for, are left out, which a comment says. Read-only; takes
   * no lock on the table, and needs no right on it, nor pgonce's schema.
   *
   * @param table as SQL writes it, as for {@link TriggerChannel#on(String, Class)}
   * @return lines that end with \n
   * @throws IllegalArgumentException if the name is none
   * @throws PgOnceException if there is no such table, or it cannot feed a channel
   */
  public static String printRecord(Connection connection, String table) throws SQLException {
    return printRecord(connection, TableName.parse(Objects.requireNonNull(table, "table")));
  }

  /** As {@link #printRecord(Connection, String)}, with the name as PostgreSQL stores it. */
  public static String printRecord(Connection connection, TableName table) throws SQLException {
    Objects.requireNonNull(connection, "connection");
    var comparison = Comparison.with(connection, Objects.requireNonNull(table, "table"));
    if (comparison.obstacle() != null) {
      throw new PgOnceException("pgonce cannot print a record: " + comparison.obstacle());
    }
    return RecordSource.of(table, comparison.columns());
  }

  /**
   * Where a record and a table disagree, whether or not there is a channel: all that {@link #plan}
   * would refuse the record for, and beside that what differs without harm. Read-only; takes no
   * lock on the table, and needs no right on it, nor pgonce's schema.
   *
   * @param table as SQL writes it, as for {@link TriggerChannel#on(String, Class)}
   * @param rowType what a row is to be decoded to
   * @throws IllegalArgumentException if the name is none, or the type cannot hold a row
   */
  public static Fit fit(Connection connection, String table, Class<?> rowType) throws SQLException {
    return fit(connection, TableName.parse(Objects.requireNonNull(table, "table")), rowType);
  }

  /** As {@link #fit(Connection, String, Class)}, with the name as PostgreSQL stores it. */
  public static Fit fit(Connection connection, TableName table, Class<?> rowType)
      throws SQLException {
    Objects.requireNonNull(connection, "connection");
    Objects.requireNonNull(table, "table");
    RowType.requireRow(Objects.requireNonNull(rowType, "rowType"));
    return Comparison.with(connection, table).fit(rowType);
  }

  /** Two that work on the same channels must not wait for each other. */
  private static List<TriggerChannel<?>> inOneOrder(TriggerChannel<?>... channels) {
    return Stream.of(channels).sorted(Comparator.comparing(TriggerChannel::name)).toList();
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
