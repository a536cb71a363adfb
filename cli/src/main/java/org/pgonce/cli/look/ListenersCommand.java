package org.pgonce.cli.look;

import org.pgonce.cli.database.Database;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import picocli.CommandLine.Command;

/** The view {@code pgonce.listener_status}. */
@Command(
    name = "listeners",
    description = "The processes that listen: to what, since when, and whether they are alive.")
public final class ListenersCommand extends DatabaseCommand {

  private static final String LISTENERS =
      """
      SELECT l.id::text, l.instance, l.listens_by, l.role, l.started_at, l.seen_at, l.alive, l.channels, l.first_for, l.backend, l.workers, l.outdated
        FROM pgonce.listener_status l ORDER BY l.started_at, l.id
      """;

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
