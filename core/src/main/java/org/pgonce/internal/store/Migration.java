package org.pgonce.internal.store;

import org.pgonce.Channel;

/** Migrations as SQL to read, and to paste into a migration tool. */
public final class Migration {

  private Migration() {}

  /** What installs a channel on a database that has the schema. */
  public static String of(Channel<?> channel) {
    return """
        SELECT pgonce.install_channel('%s', '%s', '%s', '{%s}');
        %s"""
        .formatted(
            channel.name(),
            channel.mode(),
            channel.feed().description().replace("'", "''"),
            Installed.DEFAULT_SUBSCRIPTION,
            channel.feed().migration(channel));
  }

  /** What brings an installed channel, whose mode or feed is another, to the definition. */
  static String from(Channel<?> channel, String difference) {
    var first =
        difference.equals("mode")
            ? "SELECT pgonce.change_mode('" + channel.name() + "', '" + channel.mode() + "');\n"
            : "SELECT pgonce.drop_channel('"
                + channel.name()
                + "'); -- with everything that waits in it\n";
    return first + of(channel);
  }
}
