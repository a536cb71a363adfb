package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.Installed.Difference;
import org.pgonce.triggers.internal.definition.Quoted;

/** What the database knows of a channel and its subscriptions, and the way from there and back. */
final class ChannelRow {

  // Each setting of a channel is a column, and a parameter of the same name; some columns are none.
  private static final String FORMER =
      """
      SELECT c.mode,
             pg_catalog.format('SELECT pgonce.install_channel(channel_name => %L, subscriptions => %L%s);', c.name,
               (SELECT coalesce(pg_catalog.jsonb_object_agg(s.name, s.filter), '{}') FROM pgonce.subscription s WHERE s.channel_id = c.id),
               (SELECT pg_catalog.string_agg(pg_catalog.format(', %I => %L', e.key, e.value), '' ORDER BY e.key)
                  FROM pg_catalog.jsonb_each_text(pg_catalog.to_jsonb(c) - CAST(ARRAY['id', 'name', 'held_until', 'installed_at', 'installed_by', 'changed_at', 'changed_by', 'numbered', 'owner'] AS text[])) e))
        FROM pgonce.channel c WHERE c.name = ?
      """;

  private final Channel<?> channel;
  private final Map<String, Installed> installed;

  private ChannelRow(Channel<?> channel, Map<String, Installed> installed) {
    this.channel = channel;
    this.installed = installed;
  }

  static ChannelRow of(Connection connection, Channel<?> channel) throws SQLException {
    var installed = new LinkedHashMap<String, Installed>();
    for (var name : channel.options().names()) {
      installed.put(name, Installed.lookUp(connection, channel, name));
    }
    return new ChannelRow(channel, installed);
  }

  boolean hasSchema() {
    return installed.values().stream().allMatch(Installed::schema);
  }

  boolean isNew() {
    return installed.values().stream().noneMatch(Installed::channel);
  }

  boolean isAsDefined() {
    return differences().findAny().isEmpty() && newSubscriptions().isEmpty();
  }

  /** Whether the function, which names the channel's subscriptions, is to be made anew. */
  boolean changesSubscriptions() {
    return differences().anyMatch(Difference::isOfFilter) || !newSubscriptions().isEmpty();
  }

  private Stream<Difference> differences() {
    return installed.entrySet().stream()
        .flatMap(one -> one.getValue().differences(channel, one.getKey()).stream());
  }

  private List<String> newSubscriptions() {
    return installed.entrySet().stream()
        .filter(one -> one.getValue().subscription() == 0)
        .map(Map.Entry::getKey)
        .toList();
  }

  /** What no installation changes, with what to do: the mode, and what feeds it. */
  List<String> obstacles() {
    return obstacles(difference -> true);
  }

  /** What no migration changes: what feeds it. */
  List<String> obstaclesToMigrate() {
    return obstacles(difference -> !difference.what().equals("mode"));
  }

  private List<String> obstacles(Predicate<Difference> of) {
    return differences()
        .filter(difference -> !difference.isMendedByInstall())
        .filter(of)
        .map(Difference::sentence)
        .distinct()
        .toList();
  }

  /** What installing changes of a channel that is there, as lines of a diff; empty if nothing. */
  List<String> diff() {
    var diff = new LinkedHashSet<String>();
    differences()
        .filter(Difference::isMendedByInstall)
        .forEach(
            difference -> {
              diff.add("- " + difference.what() + ": " + difference.installed());
              diff.add("+ " + difference.what() + ": " + difference.defined());
            });
    newSubscriptions().forEach(name -> diff.add("+ subscription " + name));
    if (!diff.isEmpty()) {
      ChannelSql.install(channel).lines().forEach(line -> diff.add("+ " + line));
    }
    return List.copyOf(diff);
  }

  /** As it is in the database. */
  record Former(String mode, String install) {}

  /** Null if it has no such channel. */
  @Nullable Former former(Connection connection) throws SQLException {
    return Statements.rows(
            connection,
            FORMER,
            row -> new Former(row.getString(1), row.getString(2)),
            channel.name())
        .stream()
        .findFirst()
        .orElse(null);
  }

  String up(@Nullable Former former) {
    return changeMode(former, channel.mode().name()) + ChannelSql.install(channel);
  }

  String down(Former former) {
    var down = new ArrayList<String>();
    for (var name : newSubscriptions()) {
      down.add(
          "SELECT pgonce.refuse_loss(%1$s);\nSELECT pgonce.drop_subscription(%1$s);\n"
              .formatted(Quoted.literal(channel.name()) + ", " + Quoted.literal(name)));
    }
    down.add(changeMode(former, former.mode()));
    down.add(former.install() + "\n");
    return String.join("", down);
  }

  boolean changesMode(@Nullable Former former) {
    return former != null && !former.mode().equals(channel.mode().name());
  }

  private String changeMode(@Nullable Former former, String mode) {
    return !changesMode(former)
        ? ""
        : "SELECT pgonce.change_mode(%s, '%s');\n".formatted(Quoted.literal(channel.name()), mode);
  }
}
