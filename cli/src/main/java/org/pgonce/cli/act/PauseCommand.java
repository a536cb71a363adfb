package org.pgonce.cli.act;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.Statements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.pause}. */
@Command(
    name = "pause",
    description =
        "Stops all claims of a channel until it is resumed, restarts included; what is at work finishes.")
public final class PauseCommand extends ChangeCommand {

  @Parameters(paramLabel = "CHANNEL")
  private String channel = "";

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Override
  long change(Statements statements, String because) throws SQLException {
    return statements.number("SELECT pgonce.pause(?, ?, ?)", channel, because, subscription);
  }

  @Override
  void report(long touched) {
    output.print(
        terminal(),
        why.done("pause", channel, subscription, touched),
        why.sentence(touched, "subscriptions of channel " + channel, "paused"));
  }
}
