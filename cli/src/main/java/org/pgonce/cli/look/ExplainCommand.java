package org.pgonce.cli.look;

import static org.pgonce.operations.internal.sql.LookStatements.EXPLAIN;
import static org.pgonce.operations.internal.sql.LookStatements.EXPLAIN_ALL;

import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.explain}, of one channel or of all. */
@Command(
    name = "explain",
    description = {
      "Why a notification is not moving, and what to do.",
      "Without an id: the first in line, or why nothing comes. Without a channel: all subscriptions where something waits, died or is not stored, those first that need a person.",
      "Exit status 3 where it needs a person (needs_person)."
    })
public final class ExplainCommand extends DatabaseCommand {

  @Parameters(index = "0", arity = "0..1", paramLabel = "CHANNEL", description = "Default: all")
  private @Nullable String channel;

  @Parameters(index = "1", arity = "0..1", paramLabel = "ID")
  private @Nullable Long id;

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Override
  protected int run(Database database) {
    if (channel == null && subscription != null) {
      throw new UsageException("--subscription names one of a channel: give the channel as well");
    }
    var answers =
        channel == null
            ? database.read(EXPLAIN_ALL)
            : database.read(EXPLAIN, channel, id == null ? null : id.toString(), subscription);
    output.printUpright(
        terminal(),
        output.isJson() ? answers : TypedAdvice.in(answers),
        channel == null
            ? "nothing waits, and there are no dead letters; who listens, and when one was last handled: pgonce explain CHANNEL"
            : "the channel has no subscription");
    return answers.column("needs_person").contains(true) ? ExitStatus.FOUND : ExitStatus.DONE;
  }
}
