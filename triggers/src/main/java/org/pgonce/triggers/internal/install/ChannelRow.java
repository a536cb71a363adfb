package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.internal.store.Installed;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * What the database knows of a channel and its subscriptions, and the way from there and back.
 *
 * @param formerMode null if it has no such channel
 * @param formerFeed likewise
 * @param former the call that installs it as it is; likewise
 */
record ChannelRow(
    Channel<?> channel,
    boolean isAsDefined,
    List<String> newSubscriptions,
    @Nullable String formerMode,
    @Nullable String formerFeed,
    @Nullable String former) {

  // Each setting of a channel is a column, and a parameter of the same name; some columns are none.
  private static final String FORMER =
      """
      SELECT c.mode, c.feed,
             pg_catalog.format('SELECT pgonce.install_channel(channel_name => %L, subscriptions => %L%s);', c.name,
               (SELECT pg_catalog.jsonb_object_agg(s.name, s.filter) FROM pgonce.subscription s WHERE s.channel_id = c.id),
               (SELECT pg_catalog.string_agg(pg_catalog.format(', %I => %L', e.key, e.value), '' ORDER BY e.key)
                  FROM pg_catalog.jsonb_each_text(pg_catalog.to_jsonb(c) - CAST(ARRAY['id', 'name', 'held_until', 'installed_at', 'installed_by'] AS text[])) e))
        FROM pgonce.channel c WHERE c.name = ?
      """;

  ChannelRow {
    newSubscriptions = List.copyOf(newSubscriptions);
  }

  static ChannelRow of(Connection connection, Channel<?> channel) throws SQLException {
    var outdated = false;
    var missing = new ArrayList<String>();
    for (var name : channel.options().names()) {
      var installed = Installed.lookUp(connection, channel, name);
      outdated |= !installed.differences(channel, name).isEmpty();
      if (installed.subscription() == 0) {
        missing.add(name);
      }
    }
    var isAsDefined = !outdated && missing.isEmpty();
    if (isAsDefined) {
      return new ChannelRow(
          channel, true, missing, channel.mode().name(), channel.feed().description(), "");
    }
    try (var statement = connection.prepareStatement(FORMER)) {
      statement.setString(1, channel.name());
      try (var row = statement.executeQuery()) {
        return row.next()
            ? new ChannelRow(
                channel, false, missing, row.getString(1), row.getString(2), row.getString(3))
            : new ChannelRow(channel, false, missing, null, null, null);
      }
    }
  }

  boolean isNew() {
    return former == null;
  }

  private boolean changesMode() {
    return formerMode != null && !formerMode.equals(channel.mode().name());
  }

  List<String> obstacles() {
    return formerFeed == null || formerFeed.equals(channel.feed().description())
        ? List.of()
        : List.of(
            "it is installed with feed \"%s\", not \"%s\": give one of the two another name, or drop the old one with: SELECT pgonce.drop_channel(%s);"
                .formatted(
                    formerFeed, channel.feed().description(), Quoted.literal(channel.name())));
  }

  String up() {
    return (changesMode() ? changeMode(channel.mode().name()) : "") + ChannelSql.install(channel);
  }

  /** Of a channel that was there before. */
  String down() {
    var down = new StringBuilder();
    for (var name : newSubscriptions) {
      var both = Quoted.literal(channel.name()) + ", " + Quoted.literal(name);
      down.append(
          "SELECT pgonce.refuse_loss(%1$s);\nSELECT pgonce.drop_subscription(%1$s);\n"
              .formatted(both));
    }
    if (changesMode() && formerMode != null) {
      down.append(changeMode(formerMode));
    }
    return down.append(former).append('\n').toString();
  }

  private String changeMode(String mode) {
    return "SELECT pgonce.change_mode(%s, '%s');\n".formatted(Quoted.literal(channel.name()), mode);
  }
}
