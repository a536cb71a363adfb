package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * A channel's own row in the schema.
 *
 * @param schema whether the schema pgonce is there at all
 * @param mode null if the channel is not there
 * @param feed null if the channel is not there
 */
public record ChannelRow(
    Channel<?> channel, boolean schema, @Nullable String mode, @Nullable String feed) {

  private static final String SUBSCRIPTION = "default";
  private static final String SCHEMA =
      "SELECT pg_catalog.to_regprocedure('pgonce.installed(text, text)') IS NOT NULL";
  private static final String INSTALLED = "SELECT i.mode, i.feed FROM pgonce.installed(?, ?) AS i";
  private static final String INSTALL = "SELECT pgonce.install_channel(?, ?, ?, ARRAY[?]::text[])";
  private static final String DROP = "SELECT pgonce.drop_channel(?)";

  public static ChannelRow of(Connection connection, Channel<?> channel) throws SQLException {
    if (!isSchemaThere(connection)) {
      return new ChannelRow(channel, false, null, null);
    }
    try (var statement = connection.prepareStatement(INSTALLED)) {
      statement.setString(1, channel.name());
      statement.setString(2, SUBSCRIPTION);
      try (var row = statement.executeQuery()) {
        return row.next()
            ? new ChannelRow(channel, true, row.getString(1), row.getString(2))
            : new ChannelRow(channel, true, null, null);
      }
    }
  }

  /** One line per difference from the definition. */
  public List<String> problems() {
    if (!schema) {
      return List.of("schema pgonce is missing: call PgOnce.install, or run the files of sql/");
    }
    return mode == null
        ? List.of("channel %s is not installed: install it".formatted(channel.name()))
        : conflicts();
  }

  /** Differences that installing again does not mend. */
  List<String> conflicts() {
    var conflicts = new ArrayList<String>();
    if (mode != null && !mode.equals(channel.mode().name())) {
      conflicts.add(
          "channel %1$s is installed with mode %2$s, not %3$s: SELECT pgonce.change_mode('%1$s', '%3$s'); then install it again"
              .formatted(channel.name(), mode, channel.mode()));
    }
    if (feed != null && !feed.equals(channel.feed().description())) {
      conflicts.add(
          "channel %s is installed with feed «%s», not «%s»: give one of the two another name, or drop the installed one"
              .formatted(channel.name(), feed, channel.feed().description()));
    }
    return conflicts;
  }

  /**
   * Makes the channel exist as defined.
   *
   * @throws PgOnceException if the schema is missing
   */
  public static void install(Connection transaction, Channel<?> channel) throws SQLException {
    if (!isSchemaThere(transaction)) {
      throw new PgOnceException(
          "pgonce cannot install channel %s: schema pgonce is missing; call PgOnce.install, or run the files of sql/"
              .formatted(channel.name()));
    }
    try (var statement = transaction.prepareStatement(INSTALL)) {
      statement.setString(1, channel.name());
      statement.setString(2, channel.mode().name());
      statement.setString(3, channel.feed().description());
      statement.setString(4, SUBSCRIPTION);
      statement.execute();
    }
  }

  /** Does nothing if there is none. */
  public static void drop(Connection transaction, Channel<?> channel) throws SQLException {
    if (isSchemaThere(transaction)) {
      try (var statement = transaction.prepareStatement(DROP)) {
        statement.setString(1, channel.name());
        statement.execute();
      }
    }
  }

  /** What {@link #install} does, as SQL. */
  public static String migration(Channel<?> channel) {
    return "SELECT pgonce.install_channel('%s', '%s', %s, '{%s}');\n"
        .formatted(
            channel.name(),
            channel.mode(),
            Quoted.literal(channel.feed().description()),
            SUBSCRIPTION);
  }

  /** What {@link #drop} does, as SQL. */
  public static String downMigration(Channel<?> channel) {
    return "SELECT pgonce.drop_channel('%s');\n".formatted(channel.name());
  }

  private static boolean isSchemaThere(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(SCHEMA)) {
      return row.next() && row.getBoolean(1);
    }
  }
}
