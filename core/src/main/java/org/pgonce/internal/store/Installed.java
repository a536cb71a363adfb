package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.text.Json;

/**
 * A channel and one of its subscriptions as the database has them. What feeds the channel is
 * checked by its feed.
 *
 * @param schema whether there is a schema pgonce at all
 * @param channel whether there is a channel of that name
 * @param subscription the id of its subscription, 0 if there is none
 * @param settings by their names in messages
 * @param epoch differs between two installations of the same database
 * @param encoding the database's, by PostgreSQL's name
 */
public record Installed(
    boolean schema,
    boolean channel,
    int subscription,
    Map<String, String> settings,
    String epoch,
    String encoding) {

  public static final Installed NOWHERE = new Installed(false, false, 0, Map.of(), "", "");
  private static final Installed NOT_THERE = new Installed(true, false, 0, Map.of(), "", "");

  /** What {@link #of} reads, of {@code pgonce.installed} or {@code pgonce.poll} as i. */
  public static final String COLUMNS =
      "i.subscription, i.mode, i.feed, i.filter, i.key_memory_ms, i.key_order, i.max_depth, i.max_rate, i.max_per_key, i.wake_ups, i.history_ms, i.history_payload, i.epoch, i.encoding";

  private static final String INSTALLED = "SELECT " + COLUMNS + " FROM pgonce.installed(?, ?) AS i";

  /**
   * A setting that is installed otherwise than it is defined.
   *
   * @param what for example {@code key memory}
   * @param sentence with what to do
   */
  public record Difference(String what, String installed, String defined, String sentence) {

    /** Whether installing again mends it. */
    public boolean isMendedByInstall() {
      return !what.equals("mode") && !what.equals("feed");
    }

    /** Whether it is of a subscription's filter. */
    public boolean isOfFilter() {
      return what.startsWith("filter of subscription ");
    }
  }

  public static Installed lookUp(Connection connection, Channel<?> channel, String subscription)
      throws SQLException {
    if (!Schema.exists(connection)) {
      return NOWHERE;
    }
    return Statements.rows(connection, INSTALLED, Installed::of, channel.name(), subscription)
        .stream()
        .findFirst()
        .orElse(NOT_THERE);
  }

  /** Reads {@link #COLUMNS}. */
  public static Installed of(ResultSet row) throws SQLException {
    var settings = new LinkedHashMap<String, String>();
    settings.put("mode", row.getString("mode"));
    settings.put("feed", row.getString("feed"));
    settings.put("filter", filter(row.getString("filter")));
    settings.put("key memory", Duration.ofMillis(row.getLong("key_memory_ms")).toString());
    settings.put("order", row.getString("key_order"));
    settings.put("maximum depth", Integer.toString(row.getInt("max_depth")));
    // NULL is none, which is 0 in a definition.
    settings.put("maximum rate", Integer.toString(row.getInt("max_rate")));
    settings.put("maximum per key", Integer.toString(row.getInt("max_per_key")));
    settings.put("wake-ups", row.getString("wake_ups"));
    settings.put(
        "history",
        inWords(Duration.ofMillis(row.getLong("history_ms")), row.getBoolean("history_payload")));
    return new Installed(
        true,
        true,
        row.getInt("subscription"),
        settings,
        row.getString("epoch"),
        row.getString("encoding"));
  }

  /** One that no definition can have is a difference, and fails no poll. */
  private static String filter(@Nullable String json) {
    try {
      return inWords(ContextJson.read(json));
    } catch (IllegalArgumentException e) {
      return String.valueOf(json);
    }
  }

  private static Map<String, String> defined(Channel<?> channel, String subscription) {
    var options = channel.options();
    var filter = options.subscriptions().getOrDefault(subscription, Map.of());
    return Map.of(
        "mode", channel.mode().name(),
        "feed", channel.feed().description(),
        "filter", inWords(filter),
        "key memory", options.keyMemory().toString(),
        "order", options.order().name(),
        "maximum depth", Integer.toString(options.maxDepth()),
        "maximum rate", Integer.toString(options.maxRate()),
        "maximum per key", Integer.toString(options.maxPerKey()),
        "wake-ups", options.wakeUps().name(),
        "history", inWords(options.history().retention(), options.history().payloads()));
  }

  /** Of a filter: the same for the same entries alone. */
  private static String inWords(Map<String, String> filter) {
    return Json.of(new TreeMap<>(filter));
  }

  /** Of a history. */
  private static String inWords(Duration retention, boolean payloads) {
    return retention.isZero() ? "none" : retention + (payloads ? " with payloads" : "");
  }

  /** Whether the database can store any text. */
  public boolean isUtf8() {
    return encoding.equals("UTF8");
  }

  /** In what it differs from the definition in code; nothing if the channel is not there. */
  public List<Difference> differences(Channel<?> channel, String named) {
    var defined = defined(channel, named);
    return settings.entrySet().stream()
        .filter(setting -> !setting.getValue().equals(defined.get(setting.getKey())))
        .map(setting -> difference(channel, named, setting, defined.get(setting.getKey())))
        // Without the subscription there is nothing but mode and feed to compare.
        .filter(difference -> subscription != 0 || !difference.isMendedByInstall())
        .toList();
  }

  private static Difference difference(
      Channel<?> channel,
      String named,
      Map.Entry<String, String> setting,
      @Nullable String defined) {
    var what = setting.getKey();
    var installed = setting.getValue();
    var whole = what.equals("filter") ? "filter of subscription " + named : what;
    return new Difference(
        whole,
        installed,
        String.valueOf(defined),
        "channel %s is installed with %s \"%s\", but defined with \"%s\": change the definition, or migrate with:%n%s"
            .formatted(channel.name(), whole, installed, defined, ChannelSql.mend(channel, what)));
  }

  /**
   * What keeps a listener from handling it, what feeds it included, with what to do; empty if
   * nothing does.
   */
  public List<String> problems(Connection connection, Channel<?> defined, String named)
      throws SQLException {
    var problems = problems(defined, named);
    return problems.isEmpty() ? defined.feed().problems(connection, defined) : problems;
  }

  /** The same, but for what feeds it. */
  public List<String> problems(Channel<?> defined, String named) {
    if (!schema) {
      return List.of(Schema.MISSING);
    }
    if (!channel) {
      return List.of(
          "channel %s is not installed: %s, or run its printed migration"
              .formatted(defined.name(), Schema.INSTALL));
    }
    var differences = differences(defined, named);
    if (differences.isEmpty() && subscription == 0) {
      return List.of(
          "channel %s has no subscription \"%s\": install it again"
              .formatted(defined.name(), named));
    }
    return differences.stream().map(Difference::sentence).toList();
  }
}
