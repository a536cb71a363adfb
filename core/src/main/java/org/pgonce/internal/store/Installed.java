package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;

/**
 * What the database says of a channel: its subscription's id, and in what it differs from the
 * definition in code.
 *
 * @param subscription 0 if there is none
 * @param problems one line each; a listener starts only if there are none
 */
public record Installed(int subscription, List<String> problems) {

  /** The one subscription of a channel that names none. */
  public static final String DEFAULT_SUBSCRIPTION = "default";

  private static final String INSTALLED =
      "SELECT i.subscription, i.mode, i.feed FROM pgonce.installed(?, ?) AS i";

  public static Installed lookUp(Connection connection, Channel<?> channel) throws SQLException {
    try (var statement = connection.prepareStatement(INSTALLED)) {
      statement.setString(1, channel.name());
      statement.setString(2, DEFAULT_SUBSCRIPTION);
      try (var row = statement.executeQuery()) {
        if (!row.next()) {
          return new Installed(
              0,
              List.of(
                  "channel "
                      + channel.name()
                      + " is not installed: call PgOnce.install, or run its printed migration"));
        }
        var subscription = row.getInt(1);
        var problems = new ArrayList<String>();
        addDifference(problems, channel, "mode", row.getString(2), channel.mode().name());
        addDifference(problems, channel, "feed", row.getString(3), channel.feed().description());
        if (subscription == 0) {
          problems.add(
              "channel "
                  + channel.name()
                  + " has no subscription \""
                  + DEFAULT_SUBSCRIPTION
                  + "\": install it again");
        }
        if (problems.isEmpty()) {
          problems.addAll(channel.feed().problems(connection, channel));
        }
        return new Installed(subscription, List.copyOf(problems));
      }
    }
  }

  private static void addDifference(
      List<String> problems,
      Channel<?> channel,
      String what,
      @Nullable String installed,
      String defined) {
    if (!defined.equals(installed)) {
      problems.add(
          "channel %s is installed with %s \"%s\", but defined with \"%s\": change the definition, or migrate with:%n%s"
              .formatted(channel.name(), what, installed, defined, Migration.from(channel, what)));
    }
  }
}
