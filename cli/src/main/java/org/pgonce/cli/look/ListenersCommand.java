package org.pgonce.cli.look;

import static org.pgonce.operations.internal.sql.LookStatements.FORMER_LISTENERS;
import static org.pgonce.operations.internal.sql.LookStatements.LISTENERS;

import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The views {@code pgonce.listener_status} and {@code pgonce.former_listener_status}. */
@Command(
    name = "listeners",
    description = "The processes that listen: to what, since when, and whether they are alive.")
public final class ListenersCommand extends DatabaseCommand {

  @Option(
      names = "--left",
      description = "Those that stopped or fell silent within a day, the last 100")
  private boolean left;

  @Override
  protected int run(Database database) {
    if (left) {
      output.print(terminal(), database.read(FORMER_LISTENERS), "nobody left within a day");
      return ExitStatus.DONE;
    }
    output.print(
        terminal(),
        database.read(LISTENERS),
        "nobody listens",
        "instance",
        "alive",
        "listens_by=by",
        "role",
        "workers",
        "started_at=started",
        "seen_at=seen",
        "channels",
        "outdated");
    return ExitStatus.DONE;
  }
}
