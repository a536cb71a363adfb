package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.pgonce.Channel;

/**
 * What the database says of a channel itself; what feeds it is checked by its feed.
 *
 * @param schema whether there is a schema pgonce at all
 * @param channel whether there is a channel of that name
 * @param subscription the id of its subscription, 0 if there is none
 * @param differences from the definition in code, one line each, that installing again would not
 *     mend
 * @param outdated differences that installing again does mend
 * @param epoch what tells this installation from an earlier one of the same database
 * @param encoding the database's, by PostgreSQL's name
 */
public record Installed(
    boolean schema,
    boolean channel,
    int subscription,
    List<Difference> differences,
    List<Difference> outdated,
    String epoch,
    String encoding) {

  /**
   * One difference.
   *
   * @param what for example {@code key memory}
   * @param sentence with what to do
   */
  public record Difference(String what, String installed, String defined, String sentence) {}

  public static final Installed NOWHERE =
      new Installed(false, false, 0, List.of(), List.of(), "", "");
  private static final Installed NOT_THERE =
      new Installed(true, false, 0, List.of(), List.of(), "", "");

  private static final String INSTALLED =
      "SELECT " + Definition.COLUMNS + " FROM pgonce.installed(?, ?) AS i";

  public static Installed lookUp(Connection connection, Channel<?> channel, String subscription)
      throws SQLException {
    if (!Schema.exists(connection)) {
      return NOWHERE;
    }
    try (var statement = connection.prepareStatement(INSTALLED)) {
      statement.setString(1, channel.name());
      statement.setString(2, subscription);
      try (var row = statement.executeQuery()) {
        return row.next() ? as(Definition.read(row, 1), channel, subscription) : NOT_THERE;
      }
    }
  }

  /** What is installed, compared with the definition in code. */
  public static Installed as(Definition found, Channel<?> channel, String subscription) {
    var differences = new ArrayList<Difference>();
    var outdated = new ArrayList<Difference>();
    addDifference(differences, channel, "mode", found.mode(), channel.mode().name());
    addDifference(differences, channel, "feed", found.feed(), channel.feed().description());
    if (found.subscription() != 0) {
      addDifferences(outdated, channel, subscription, found);
    }
    return new Installed(
        true,
        true,
        found.subscription(),
        List.copyOf(differences),
        List.copyOf(outdated),
        found.epoch(),
        found.encoding());
  }

  /** Whether the database can store any text. */
  public boolean isUtf8() {
    return encoding.equals("UTF8");
  }

  private static void addDifferences(
      List<Difference> differences, Channel<?> channel, String subscription, Definition found) {
    var options = channel.options();
    addDifference(
        differences,
        channel,
        "filter of subscription " + subscription,
        found.filter(),
        options.subscriptions().getOrDefault(subscription, Map.of()));
    addDifference(differences, channel, "key memory", found.keyMemory(), options.keyMemory());
    addDifference(differences, channel, "order", found.order(), options.order().name());
    addDifference(differences, channel, "maximum depth", found.maxDepth(), options.maxDepth());
    addDifference(differences, channel, "maximum rate", found.maxRate(), options.maxRate());
    addDifference(differences, channel, "maximum per key", found.maxPerKey(), options.maxPerKey());
    addDifference(differences, channel, "wake-ups", found.wakeUps(), options.wakeUps().name());
  }

  private static void addDifference(
      List<Difference> differences,
      Channel<?> channel,
      String what,
      Object installed,
      Object defined) {
    if (!defined.equals(installed)) {
      differences.add(
          new Difference(
              what,
              installed.toString(),
              defined.toString(),
              "channel %s is installed with %s \"%s\", but defined with \"%s\": change the definition, or migrate with:%n%s"
                  .formatted(
                      channel.name(), what, installed, defined, Migration.from(channel, what))));
    }
  }

  /** What keeps a listener from handling it, with what to do; empty if nothing does. */
  public List<String> problems(Channel<?> defined, String named) {
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
              .formatted(defined.name(), named));
    }
    return Stream.concat(differences.stream(), outdated.stream())
        .map(Difference::sentence)
        .toList();
  }
}
