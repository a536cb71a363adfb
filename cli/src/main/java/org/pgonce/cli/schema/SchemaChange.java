package org.pgonce.cli.schema;

import java.sql.SQLException;
import java.util.Map;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.operations.internal.doctor.SchemaState;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Option;

/** Runs a script in one transaction, as {@code psql -1} does. */
abstract class SchemaChange extends DatabaseCommand {

  @Option(names = "--dry-run", description = "Runs it, and rolls it back")
  private boolean dryRun;

  /** Whether there is something to do. */
  abstract boolean mustRun(SchemaState before);

  /** In the transaction, before the script. */
  void require(Statements statements) throws SQLException {}

  abstract String script();

  abstract String done();

  @Override
  protected int run(Database database) {
    var before = database.read(SchemaState::of);
    if (before.installed() > before.needed()) {
      throw new FailedException(String.join("\n", before.problems()));
    }
    var runs = mustRun(before);
    if (runs) {
      var unused =
          database.write(
              dryRun,
              statements -> {
                require(statements);
                try (var statement = statements.connection().createStatement()) {
                  return statement.execute(script());
                }
              });
    }
    output.print(
        terminal(),
        Map.of("changed", runs && !dryRun, "would_change", runs, "dry_run", dryRun),
        !runs
            ? "there is nothing to do"
            : dryRun ? done() + ", if it were not a dry run; nothing was changed" : done());
    return ExitStatus.DONE;
  }
}
