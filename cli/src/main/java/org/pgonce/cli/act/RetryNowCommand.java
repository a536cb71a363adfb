package org.pgonce.cli.act;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DeadLetterFilter;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.retry_now}. */
@Command(
    name = "retry-now",
    description = "Makes due now what waits for its time or its next attempt.")
public final class RetryNowCommand extends ChangeCommand {

  @Parameters(index = "0", paramLabel = "CHANNEL")
  private String channel = "";

  @Parameters(index = "1..*", arity = "1..*", paramLabel = "ID")
  private List<Long> ids = List.of();

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Override
  long change(Statements statements, String because) throws SQLException {
    if (why.dryRun()) { // without a lock, which would leave a mark in the row
      return statements.number(
          "SELECT pgonce.would_retry_now(?, ?::text::bigint[], ?)",
          channel,
          DeadLetterFilter.array(ids),
          subscription);
    }
    return statements.number(
        "SELECT pgonce.retry_now(?, ?::text::bigint[], ?, ?)",
        channel,
        DeadLetterFilter.array(ids),
        because,
        subscription);
  }

  @Override
  void report(long touched) {
    output.print(
        terminal(),
        why.done("retry-now", channel, subscription, touched),
        why.sentence(touched, "notifications of channel " + channel, "made due"));
  }
}
