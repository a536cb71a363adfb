package org.pgonce.internal.store;

import org.pgonce.Channel;
import org.pgonce.ChannelOptions;

/** Migrations as SQL to read, and to paste into a migration tool. */
public final class Migration {

  private Migration() {}

  /** What installs a channel on a database that has the schema. */
  public static String of(Channel<?> channel) {
    return channelOnly(channel) + channel.feed().migration(channel);
  }

  /** The same without what feeds it. */
  public static String channelOnly(Channel<?> channel) {
    var options = channel.options();
    return "SELECT pgonce.install_channel('%s', '%s', '%s', '%s'%s);\n"
        .formatted(
            channel.name(),
            channel.mode(),
            quoted(channel.feed().description()),
            quoted(SubscriptionFilters.toJson(options)),
            settings(options));
  }

  /** What is not as the function has it by default. */
  private static String settings(ChannelOptions options) {
    var none = ChannelOptions.DEFAULT;
    var settings = new StringBuilder();
    if (!options.keyMemory().equals(none.keyMemory())) {
      settings.append(", key_memory => '%d ms'".formatted(options.keyMemory().toMillis()));
    }
    if (options.order() != none.order()) {
      settings.append(", key_order => '%s'".formatted(options.order()));
    }
    if (options.maxDepth() != none.maxDepth()) {
      settings.append(", max_depth => %d".formatted(options.maxDepth()));
    }
    if (options.maxRate() != none.maxRate()) {
      settings.append(", max_rate => %d".formatted(options.maxRate()));
    }
    if (options.maxPerKey() != none.maxPerKey()) {
      settings.append(", max_per_key => %d".formatted(options.maxPerKey()));
    }
    if (options.wakeUps() != none.wakeUps()) {
      settings.append(", wake_ups => '%s'".formatted(options.wakeUps()));
    }
    return settings.toString();
  }

  private static String quoted(String text) {
    return text.replace("'", "''");
  }

  /** What removes a channel that nothing feeds any more, with everything that waits in it. */
  public static String dropOf(Channel<?> channel) {
    return "SELECT pgonce.drop_channel('" + channel.name() + "');\n";
  }

  /**
   * What brings an installed channel, whose mode, feed or options are others, to the definition.
   */
  static String from(Channel<?> channel, String difference) {
    var first =
        switch (difference) {
          case "mode" ->
              "SELECT pgonce.change_mode('%s', '%s');\n".formatted(channel.name(), channel.mode());
          case "feed" -> "-- with everything that waits in it:\n" + dropOf(channel);
          default -> "";
        };
    return first + of(channel);
  }
}
