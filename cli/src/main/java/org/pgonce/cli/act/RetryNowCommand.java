package org.pgonce.cli.act;

import static org.pgonce.operations.internal.sql.RetryStatements.RETRY_FAILED;
import static org.pgonce.operations.internal.sql.RetryStatements.WOULD_RETRY_FAILED;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.ArrayText;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.LookStatements;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code pgonce.retry_now}. */
@Command(
    name = "retry-now",
    description = "Makes due now what waits for its time or its next attempt.")
public final class RetryNowCommand extends DatabaseCommand {

  private static final String FAILED =
      " FROM pgonce.retry_status r WHERE " + LookStatements.FAILED_FITS;
  private static final String COUNT = "SELECT count(*)" + FAILED;

  // By ids that go up: what fails anew meanwhile is not taken again.
  private static final String NEXT =
      "SELECT DISTINCT r.id%s AND r.id > ?::text::bigint ORDER BY r.id LIMIT %s"
          .formatted(FAILED, Batches.SIZE);

  // Without a lock, which would leave a mark in the row.
  private static final String WOULD_RETRY =
      "SELECT pgonce.would_retry_now(?, ?::text::bigint[], ?)";
  private static final String RETRY = "SELECT pgonce.retry_now(?, ?::text::bigint[], ?, ?)";

  @Parameters(index = "0", paramLabel = "CHANNEL")
  private String channel = "";

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "ID",
      description = "These, failed or not")
  private List<Long> ids = List.of();

  @Option(names = "--failed", description = "All that failed and wait for their next attempt")
  private boolean failed;

  @Option(
      names = "--error",
      paramLabel = "PATTERN",
      description =
          "Those that failed and whose last error is like this, as of LIKE: '%%timed out%%'")
  private @Nullable String error;

  @Option(names = "--subscription", paramLabel = "NAME", description = "Default: all")
  private @Nullable String subscription;

  @Mixin private Why why = new Why();

  @Override
  protected int run(Database database) {
    var because = why.because();
    var anyFailed = failed || error != null;
    if (ids.isEmpty() != anyFailed) {
      throw new UsageException(
          anyFailed
              ? "--failed or --error beside ids: give one of them"
              : "what of channel %s is to be tried now? Give ids, or --failed, or --error; pgonce peek lists them"
                  .formatted(channel));
    }
    var touched =
        anyFailed
            ? new Batches(terminal(), "retry-now", "notifications were made due", why)
                .run(
                    database.read(
                        statements ->
                            statements.number(COUNT, channel, subscription, error, error)),
                    behind -> next(database, behind),
                    batch -> changeFailed(database, batch, because))
            : change(database, ids, because);
    output.print(
        terminal(),
        why.done("retry-now", channel, subscription, touched),
        why.sentence(touched, "notifications of channel " + channel, "made due"));
    return ExitStatus.DONE;
  }

  private List<Long> next(Database database, long behind) {
    return database
        .read(NEXT, channel, subscription, error, error, String.valueOf(behind))
        .column("id")
        .stream()
        .map(Long.class::cast)
        .toList();
  }

  /** None that fits: the function refuses a channel that is not there. */
  private long changeFailed(Database database, List<Long> batch, String because) {
    return batch.isEmpty()
        ? change(database, batch, because)
        : database.write(
            why.dryRun(),
            statements ->
                changeFailed(statements, batch.get(0), batch.get(batch.size() - 1), because));
  }

  private long changeFailed(Statements statements, Long first, Long last, String because)
      throws SQLException {
    var from = first.toString();
    var to = last.toString();
    if (why.dryRun()) {
      return statements.number(
          WOULD_RETRY_FAILED, channel, channel, subscription, error, error, from, to);
    }
    why.sign(terminal(), statements);
    return statements.number(
        RETRY_FAILED, channel, because, channel, subscription, error, error, from, to);
  }

  private long change(Database database, List<Long> some, String because) {
    return database.write(why.dryRun(), statements -> change(statements, some, because));
  }

  private long change(Statements statements, List<Long> some, String because) throws SQLException {
    var array = ArrayText.of(some);
    if (why.dryRun()) {
      return statements.number(WOULD_RETRY, channel, array, subscription);
    }
    why.sign(terminal(), statements);
    return statements.number(RETRY, channel, array, because, subscription);
  }
}
