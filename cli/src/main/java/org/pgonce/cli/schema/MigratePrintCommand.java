package org.pgonce.cli.schema;

import java.util.concurrent.Callable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.triggers.Migration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Needs no database. */
@Command(
    name = "print",
    description = "Prints the schema as SQL, for a new database and over an earlier version.")
public final class MigratePrintCommand implements Callable<Integer> {

  private enum Form {
    psql,
    liquibase
  }

  @Spec private CommandSpec spec;

  @Option(
      names = "--for",
      paramLabel = "TOOL",
      defaultValue = "psql",
      description =
          "psql (with -1 -v ON_ERROR_STOP=1 -f), which Flyway runs too as R__pgonce.sql, or liquibase. Default: psql")
  private Form form = Form.psql;

  @Option(names = "--down", description = "The way back; it fails while something waits")
  private boolean down;

  @SuppressWarnings("NullAway.Init") // picocli sets the spec
  public MigratePrintCommand() {}

  @Override
  public Integer call() {
    if (down && form == Form.liquibase) {
      throw new UsageException(
          "--down is for psql alone: what is printed for Liquibase has its rollback in it");
    }
    var migration = Migration.ofSchema();
    var out = ((DatabaseCommand.Root) spec.root().userObject()).terminal().out();
    out.print(
        form == Form.liquibase
            ? migration.liquibase("pgonce", "schema")
            : down ? migration.down() : migration.up());
    return ExitStatus.DONE;
  }
}
