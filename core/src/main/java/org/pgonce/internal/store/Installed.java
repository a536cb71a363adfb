package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;

/**
 * What the database says of a channel itself; what feeds it is checked by its feed.
 *
 * @param schema whether there is a schema pgonce at all
 * @param channel whether there is a channel of that name
 * @param subscription the id of its subscription, 0 if there is none
 * @param differences from the definition in code, one line each, that installing again would not
 *     mend
 * @param epoch what tells this installation from an earlier one of the same database
 * @param encoding the database's, by PostgreSQL's name
 */
public record Installed(
    boolean schema,
    boolean channel,
    int subscription,
    List<String> differences,
    String epoch,
    String encoding) {

  /** The one subscription of a channel that names none. */
  public static final String DEFAULT_SUBSCRIPTION = "default";

  public static final Installed NOWHERE = new Installed(false, false, 0, List.of(), "", "");
  private static final Installed NOT_THERE = new Installed(true, false, 0, List.of(), "", "");

  private static final String INSTALLED =
      "SELECT i.subscription, i.mode, i.feed, i.epoch, i.encoding FROM pgonce.installed(?, ?) AS i";

  public static Installed lookUp(Connection connection, Channel<?> channel) throws SQLException {
    if (!Schema.exists(connection)) {
      return NOWHERE;
    }
    try (var statement = connection.prepareStatement(INSTALLED)) {
      statement.setString(1, channel.name());
      statement.setString(2, DEFAULT_SUBSCRIPTION);
      try (var row = statement.executeQuery()) {
        if (!row.next()) {
          return NOT_THERE;
        }
        var differences = new ArrayList<String>();
        var mode = channel.mode().name();
        var feed = channel.feed().description();
        addDifference(differences, channel, "mode", row.getString(2), mode);
        addDifference(differences, channel, "feed", row.getString(3), feed);
        return new Installed(
            true,
            true,
            row.getInt(1),
            List.copyOf(differences),
            row.getString(4),
            row.getString(5));
      }
    }
  }

  /** Whether the database can store any text. */
  public boolean isUtf8() {
    return encoding.equals("UTF8");
  }

  private static void addDifference(
      List<String> differences,
      Channel<?> channel,
      String what,
      @Nullable String installed,
      String defined) {
    if (!defined.equals(installed)) {
      differences.add(
          "channel %s is installed with %s \"%s\", but defined with \"%s\": change the definition, or migrate with:%n%s"
              .formatted(channel.name(), what, installed, defined, Migration.from(channel, what)));
    }
  }

  /** What keeps a listener from starting, with what to do; empty if nothing does. */
  public List<String> problems(Channel<?> defined) {
    if (!schema) {
      return List.of("schema pgonce is missing: call PgOnce.install, or run the files of sql/");
    }
    if (!channel) {
      return List.of(
          "channel "
              + defined.name()
              + " is not installed: call PgOnce.install, or run its printed migration");
    }
    if (differences.isEmpty() && subscription == 0) {
      return List.of(
          "channel %s has no subscription \"%s\": install it again"
              .formatted(defined.name(), DEFAULT_SUBSCRIPTION));
    }
    return differences;
  }
}
