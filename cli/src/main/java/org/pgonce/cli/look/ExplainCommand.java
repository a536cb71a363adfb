package org.pgonce.cli.look;

import static org.pgonce.operations.internal.sql.LookStatements.EXPLAIN;

import java.util.Collections;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.explain}. */
@Command(
    name = "explain",
    description = {
      "Why a notification is not moving, and what to do.",
      "Without an id: the first in line, or why nothing comes. Exit status 3 where only a person can end the cause."
    })
public final class ExplainCommand extends DatabaseCommand {

  /** Neither time nor a listener ends these. */
  private static final Set<String> FOR_A_PERSON =
      Set.of(
          "DEAD",
          "COPY_NOT_ADOPTED",
          "PAUSED",
          "NO_LISTENER",
          "OUTDATED_LISTENERS",
          "STARVED",
          "NOT_STORED");

  @Parameters(index = "0", paramLabel = "CHANNEL")
  private String channel = "";

  @Parameters(index = "1", arity = "0..1", paramLabel = "ID")
  private @Nullable Long id;

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Override
  protected int run(Database database) {
    var answers = database.read(EXPLAIN, channel, id == null ? null : id.toString(), subscription);
    output.printUpright(terminal(), answers, "the channel has no subscription");
    return Collections.disjoint(answers.column("cause"), FOR_A_PERSON)
        ? ExitStatus.DONE
        : ExitStatus.FOUND;
  }
}
