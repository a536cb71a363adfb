package org.pgonce.cli.schema;

import java.util.Map;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.records.Records;
import org.pgonce.records.TableName;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** What a developer defines a trigger channel by. */
@Command(
    name = "record",
    description =
        "Prints a Java record for the rows of a table. It needs no right on the table, nor schema pgonce.")
public final class RecordCommand extends DatabaseCommand {

  @Parameters(
      paramLabel = "TABLE",
      description = "As SQL writes it: author, app.author, 'app.\"Odd.Name\"'")
  private String table = "";

  @Override
  protected int run(Database database) {
    var name = name();
    var source = database.readInOwnPath(statements -> Records.print(statements.connection(), name));
    output.print(terminal(), Map.of("table", name.toString(), "source", source), source);
    return ExitStatus.DONE;
  }

  private TableName name() {
    try {
      return TableName.parse(table);
    } catch (IllegalArgumentException e) {
      throw new UsageException(String.valueOf(e.getMessage()), e);
    }
  }
}
