package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;

/** Installs schema and channels within the caller's transaction: all of it or nothing. */
public final class Installation {

  // Installing must never make writers queue behind it: it gives up instead, and says so.
  private static final String BOUND_THE_WAIT = "SET LOCAL lock_timeout = '10s'";
  private static final String ROLE = "SELECT current_setting('role')";
  private static final String RESTORE_ROLE = "SELECT set_config('role', ?, false)";
  private static final String INSTALL_CHANNEL =
      "SELECT pgonce.install_channel(?, ?, ?, ?::jsonb, ? * interval '1 millisecond', ?, ?, nullif(?, 0))";

  private static final String DROP_CHANNEL = "SELECT pgonce.drop_channel(?)";

  private Installation() {}

  public static void run(Connection transaction, List<Channel<?>> channels) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(BOUND_THE_WAIT);
    }
    var role = role(transaction);
    Schema.install(transaction);
    restoreRole(transaction, role);
    // In one order everywhere: two installations of the same channels must not wait for each other.
    for (var channel : channels.stream().sorted(Comparator.comparing(Channel::name)).toList()) {
      install(transaction, channel);
      restoreRole(transaction, role);
    }
  }

  /** Makes one channel, and what feeds it, as defined; the schema must be there. */
  public static void install(Connection transaction, Channel<?> channel) throws SQLException {
    if (!Schema.exists(transaction)) {
      throw new PgOnceException(
          "pgonce cannot install channel %s: schema pgonce is missing; call PgOnce.install, or run the files of sql/"
              .formatted(channel.name()));
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
      statement.execute();
    }
    channel.feed().install(transaction, channel);
  }

  /** Removes a channel that nothing feeds any more; what is not there is no error. */
  public static void drop(Connection transaction, Channel<?> channel) throws SQLException {
    if (Schema.exists(transaction)) {
      try (var statement = transaction.prepareStatement(DROP_CHANNEL)) {
        statement.setString(1, channel.name());
        statement.execute();
      }
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
