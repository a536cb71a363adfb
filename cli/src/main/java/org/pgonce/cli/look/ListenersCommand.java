package org.pgonce.cli.look;

import static org.pgonce.operations.internal.sql.LookStatements.LISTENERS;

import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;

/** The view {@code pgonce.listener_status}. */
@Command(
    name = "listeners",
    description = "The processes that listen: to what, since when, and whether they are alive.")
public final class ListenersCommand extends DatabaseCommand {

  @Override
  protected int run(Database database) {
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
