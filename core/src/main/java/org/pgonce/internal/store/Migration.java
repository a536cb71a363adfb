package org.pgonce.internal.store;

import org.pgonce.Channel;

/** Migrations as SQL to read, and to paste into a migration tool. */
public final class Migration {

  private Migration() {}

  /** What installs a channel on a database that has the schema. */
  public static String of(Channel<?> channel) {
    return channelOnly(channel) + channel.feed().migration(channel);
  }

  /** The same without what feeds it. */
  public static String channelOnly(Channel<?> channel) {
    return "SELECT pgonce.install_channel('%s', '%s', '%s', '{%s}');\n"
        .formatted(
            channel.name(),
            channel.mode(),
            channel.feed().description().replace("'", "''"),
            Installed.DEFAULT_SUBSCRIPTION);
  }

  /** What removes a channel that nothing feeds any more, with everything that waits in it. */
  public static String dropOf(Channel<?> channel) {
    return "SELECT pgonce.drop_channel('" + channel.name() + "');\n";
  }

  /** What brings an installed channel, whose mode or feed is another, to the definition. */
  static String from(Channel<?> channel, String difference) {
    var first =
        difference.equals("mode")
            ? "SELECT pgonce.change_mode('%s', '%s');\n".formatted(channel.name(), channel.mode())
            : "-- with everything that waits in it:\n" + dropOf(channel);
    return first + of(channel);
  }
}
