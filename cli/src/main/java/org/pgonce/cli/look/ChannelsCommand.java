package org.pgonce.cli.look;

import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;

/** The view {@code pgonce.channel_settings}. */
@Command(name = "channels", description = "How each subscription is installed; counts nothing.")
public final class ChannelsCommand extends DatabaseCommand {

  private static final String SETTINGS =
      """
      SELECT c.channel, c.subscription, c.mode, c.feed, c.key_order, c.max_per_key, c.max_rate, c.max_depth, c.key_memory, c.wake_ups, c.history, c.history_payload,
             c.filter, c.owner, c.installed_at, c.installed_by, c.changed_at, c.changed_by
        FROM pgonce.channel_settings c ORDER BY c.channel, c.subscription
      """;

  @Override
  protected int run(Database database) {
    output.print(
        terminal(),
        database.read(SETTINGS),
        "no channel is installed",
        "channel",
        "subscription",
        "mode",
        "key_order=order",
        "max_rate=rate",
        "max_per_key=per key",
        "max_depth=depth",
        "owner",
        "changed_at=installed so",
        "changed_by=by",
        "feed");
    return ExitStatus.DONE;
  }
}
