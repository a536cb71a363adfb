package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;

/** Installs schema and channels within the caller's transaction: all of it or nothing. */
public final class Installation {

  // Installing must never make writers queue behind it: it gives up instead, and says so. A process
  // that freezes with a table's lock in its hands loses it after 5 s.
  private static final String BOUND_THE_WAIT =
      """
      SELECT pg_catalog.set_config('lock_timeout', '10s', true),
             CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout')::pg_catalog.interval
                       NOT BETWEEN INTERVAL '1 microsecond' AND INTERVAL '5 seconds'
                  THEN pg_catalog.set_config('idle_in_transaction_session_timeout', '5s', true) END
      """;
  private static final String ROLE = "SELECT pg_catalog.current_setting('role')";
  private static final String RESTORE_ROLE = "SELECT pg_catalog.set_config('role', ?, false)";
  private static final String INSTALL_CHANNEL =
      "SELECT pgonce.install_channel(?, ?, ?, ?::jsonb, ? * interval '1 millisecond', ?, ?, nullif(?, 0), nullif(?, 0), ?)";

  private static final String COPY = "SELECT pgonce.copy_of_another()";

  private Installation() {}

  /**
   * Brings the schema, if it is not there, and makes the channels as defined. Each statement waits
   * 10 s at most for a lock.
   *
   * @return false if it has only brought the schema up to date, or given it its owners and rights
   *     back, whose tables others use: to be committed before a channel waits for its table
   */
  public static boolean run(Connection transaction, List<Channel<?>> channels) throws SQLException {
    PinnedPath.change(transaction, () -> bound(transaction));
    var role = role(transaction);
    var damage =
        PinnedPath.during(transaction, () -> Optional.ofNullable(Ownership.damage(transaction)));
    if (damage.isPresent()) {
      Schema.mend(transaction, damage.get());
      restoreRole(transaction, role);
      return channels.isEmpty();
    }
    var before = Schema.install(transaction);
    restoreRole(transaction, role);
    if (before > 0 && before < Schema.latest() && !channels.isEmpty()) {
      return false;
    }
    PinnedPath.change(
        transaction,
        () -> {
          for (var channel : channels) {
            install(transaction, channel);
            restoreRole(transaction, role);
          }
        });
    return true;
  }

  /** For a transaction of pgonce's own that installs or drops. */
  public static void bound(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(BOUND_THE_WAIT);
    }
  }

  /** Makes one channel, and what feeds it, as defined; the schema must be there. */
  public static void install(Connection transaction, Channel<?> channel) throws SQLException {
    define(transaction, channel);
    channel.feed().install(transaction, channel);
  }

  /** The channel without what feeds it; the schema must be there. */
  public static void define(Connection transaction, Channel<?> channel) throws SQLException {
    if (!Schema.exists(transaction)) {
      throw new PgOnceException(
          "pgonce cannot install channel %s: schema pgonce is missing; call PgOnce.install, or run the files of sql/"
              .formatted(channel.name()));
    }
    var damage = Ownership.damage(transaction);
    if (damage != null) {
      throw new PgOnceException(
          "pgonce cannot install channel %s: %s".formatted(channel.name(), damage));
    }
    try (var statement = transaction.prepareStatement(INSTALL_CHANNEL)) {
      statement.setString(1, channel.name());
      statement.setString(2, channel.mode().name());
      statement.setString(3, channel.feed().description());
      var options = channel.options();
      statement.setString(4, SubscriptionFilters.toJson(options));
      statement.setLong(5, options.keyMemory().toMillis());
      statement.setString(6, options.order().name());
      statement.setInt(7, options.maxDepth());
      statement.setInt(8, options.maxRate());
      statement.setInt(9, options.maxPerKey());
      statement.setString(10, options.wakeUps().name());
      statement.execute();
    }
  }

  /** Whether nothing may be delivered in this database, being a copy: one line, or none. */
  public static List<String> problems(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(COPY)) {
      row.next();
      return Stream.ofNullable(row.getString(1)).toList();
    }
  }

  private static String role(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(ROLE)) {
      row.next();
      return row.getString(1);
    }
  }

  /** The scripts end with RESET ROLE, which is not what a pool that sets a role hands out. */
  private static void restoreRole(Connection transaction, String role) throws SQLException {
    try (var statement = transaction.prepareStatement(RESTORE_ROLE)) {
      statement.setString(1, role);
      statement.execute();
    }
  }
}
