package org.pgonce.cli.look;

import static org.pgonce.cli.look.DeadCommand.IS_INSTALLED;

import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.text.Printable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** The view {@code pgonce.operation_log}. */
@Command(name = "log", description = "Who did what, when and why; the newest last.")
public final class LogCommand extends DatabaseCommand {

  private static final String LOG =
      """
      SELECT o.id, o.at, o.what, o.channel, o.subscription, o.role, o.operator, o.concerned, o.reason, o.detail
        FROM (SELECT * FROM pgonce.operation_log n WHERE ?::text IS NULL OR n.channel IN (?, '*') ORDER BY n.id DESC LIMIT ?::int) o ORDER BY o.id
      """;

  @Parameters(arity = "0..1", paramLabel = "CHANNEL", description = "Default: all")
  private @Nullable String channel;

  @Mixin private Limit limit = new Limit();

  @Override
  protected int run(Database database) {
    // Of one that was dropped there are entries.
    if (channel != null
        && !database.read(statements -> statements.isTrue(IS_INSTALLED, channel, null))) {
      terminal()
          .err()
          .println(
              "pgonce: channel %s is not installed: look for its name in pgonce channels"
                  .formatted(Printable.line(channel)));
    }
    output.print(
        terminal(),
        database.read(LOG, channel, channel, limit.text()),
        "nothing was done",
        "at",
        "what",
        "channel",
        "subscription",
        "concerned",
        "role",
        "operator",
        "reason",
        "detail");
    return ExitStatus.DONE;
  }
}
