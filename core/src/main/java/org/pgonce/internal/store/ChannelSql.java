package org.pgonce.internal.store;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.internal.text.Json;
import org.pgonce.spi.ChannelFeed;

/** The SQL that installs and drops a channel: run, or pasted into a migration tool. */
public final class ChannelSql {

  private ChannelSql() {}

  /**
   * Installs channels and what feeds them, in a database that has the schema. The channels come
   * first, so that no wait for their rows comes behind the lock of a table.
   */
  public static String installWithFeeds(List<Channel<?>> channels) {
    var feeds = feeds(channels);
    return channels.stream().map(ChannelSql::install).collect(Collectors.joining())
        + channels.stream()
            .map(channel -> channel.feed().migration(channel, feeds))
            .collect(Collectors.joining());
  }

  /** How many of them something feeds that is installed too. */
  public static int feeds(List<Channel<?>> channels) {
    return (int)
        channels.stream().filter(channel -> channel.feed() != ChannelFeed.PUBLISHED).count();
  }

  /** Installs a channel without what feeds it. */
  public static String install(Channel<?> channel) {
    var options = channel.options();
    return "SELECT pgonce.install_channel('%s', '%s', %s, %s%s);\n"
        .formatted(
            channel.name(),
            channel.mode(),
            literal(channel.feed().description()),
            literal(subscriptions(options)),
            settings(options));
  }

  /** JSON: name to filter, or to null where there is none. */
  private static String subscriptions(ChannelOptions options) {
    var all = new TreeMap<String, @Nullable Map<String, String>>();
    options
        .subscriptions()
        .forEach((name, filter) -> all.put(name, filter.isEmpty() ? null : new TreeMap<>(filter)));
    return Json.of(all);
  }

  /** What is not as the function has it by default. */
  private static String settings(ChannelOptions options) {
    var none = ChannelOptions.DEFAULT;
    var memory = options.keyMemory();
    return onlyIf(!memory.equals(none.keyMemory()), "key_memory => '%s s'", seconds(memory))
        + onlyIf(options.order() != none.order(), "key_order => '%s'", options.order())
        + onlyIf(options.maxDepth() != none.maxDepth(), "max_depth => %s", options.maxDepth())
        + onlyIf(options.maxRate() != none.maxRate(), "max_rate => %s", options.maxRate())
        + onlyIf(options.maxPerKey() != none.maxPerKey(), "max_per_key => %s", options.maxPerKey())
        + onlyIf(options.wakeUps() != none.wakeUps(), "wake_ups => '%s'", options.wakeUps())
        + onlyIf(
            options.history().isKept(), "history => '%s s'", seconds(options.history().retention()))
        + onlyIf(
            options.history().payloads(), "history_payload => %s", options.history().payloads());
  }

  private static String onlyIf(boolean given, String argument, Object value) {
    return given ? ", " + argument.formatted(value) : "";
  }

  /** A text in SQL, which means the same whatever standard_conforming_strings says. */
  public static String literal(String text) {
    var quoted = "'" + text.replace("'", "''") + "'";
    return text.indexOf('\\') < 0 ? quoted : "E" + quoted.replace("\\", "\\\\");
  }

  /** Drops a channel that nothing feeds any more, with everything that waits in it. */
  public static String drop(Channel<?> channel) {
    return "SELECT pgonce.drop_channel('" + channel.name() + "');\n";
  }

  /** Brings an installed channel to its definition, from which this setting differs. */
  static String mend(Channel<?> channel, String setting) {
    var isPublished = channel.feed() == ChannelFeed.PUBLISHED;
    var first =
        switch (setting) {
          case "mode" ->
              "SELECT pgonce.change_mode('%s', '%s');\n".formatted(channel.name(), channel.mode());
          case "feed" ->
              (isPublished ? "-- " : renamed(channel) + "-- else, ")
                  + "with everything that waits in it:\n"
                  + drop(channel);
          default -> "";
        };
    var feed =
        isPublished
            ? ""
            : "-- and PgOnce.install, or a migration printed for this database, for its "
                + channel.feed().description()
                + "\n";
    return first + install(channel) + feed;
  }

  /** The triggers of a table go with it. */
  private static String renamed(Channel<?> channel) {
    return "-- if its table got another name or schema, as pgonce_owner:\nUPDATE pgonce.channel SET feed = %s WHERE name = '%s';\n"
        .formatted(literal(channel.feed().description()), channel.name());
  }

  /** Not milliseconds: PostgreSQL 14 takes no more than 2^31 of them. */
  private static String seconds(Duration time) {
    return BigDecimal.valueOf(time.toMillis(), 3).stripTrailingZeros().toPlainString();
  }
}
