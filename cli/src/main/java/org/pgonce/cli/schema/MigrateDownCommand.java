package org.pgonce.cli.schema;

import org.pgonce.cli.terminal.FailedException;
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
  String script() {
    if (!database.matches("[^'\\\\]+")) {
      throw new FailedException("--database is not the name of this database");
    }
    return """
        DO $$
        BEGIN
          IF pg_catalog.current_database() OPERATOR(pg_catalog.<>) '%s' THEN
            RAISE EXCEPTION 'the database is "%%", and --database names another one', pg_catalog.current_database();
          END IF;
        END
        $$;
        """
            .formatted(database)
        + Migration.ofSchema().down();
  }

  @Override
  String done() {
    return "schema pgonce is gone";
  }
}
