package org.pgonce.cli.schema;

import java.sql.SQLException;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.operations.internal.doctor.SchemaState;
import org.pgonce.operations.internal.sql.Statements;
import org.pgonce.triggers.Migration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Takes the schema away, unless something waits. */
@Command(
    name = "down",
    description =
        "Takes schema pgonce away, with its triggers and its operation log. Refused while something waits, dead letters included.")
public final class MigrateDownCommand extends SchemaChange {

  @Option(
      names = "--database",
      required = true,
      paramLabel = "NAME",
      description = "The database's name once more, as the log that would have the reason goes too")
  private String database = "";

  @Override
  boolean mustRun(SchemaState before) {
    return before.installed() != 0;
  }

  @Override
  void require(Statements statements) throws SQLException {
    if (!statements.isTrue("SELECT pg_catalog.current_database() = ?", database)) {
      throw new FailedException(
          "the database is \"%s\", and --database names another one"
              .formatted(statements.text("SELECT pg_catalog.current_database()")));
    }
  }

  @Override
  String script() {
    return Migration.ofSchema().down();
  }

  @Override
  String done() {
    return "schema pgonce is gone";
  }
}
