package org.pgonce.cli.schema;

import java.util.LinkedHashMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.doctor.SchemaState;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;

/** Version, owners and rights of the schema. */
@Command(
    name = "check",
    description =
        "Whether the schema is there, in the version of this command line, with its owners and rights. Exit status 3 if not.")
public final class MigrateCheckCommand extends DatabaseCommand {

  @Override
  protected int run(Database database) {
    var state = database.read(SchemaState::of);
    var json = new LinkedHashMap<String, @Nullable Object>();
    json.put("installed", state.installed());
    json.put("needed", state.needed());
    json.put("problems", state.problems());
    output.print(
        terminal(),
        json,
        state.problems().isEmpty()
            ? "schema pgonce is of version %d, as needed".formatted(state.installed())
            : String.join("\n", state.problems()));
    return state.problems().isEmpty() ? ExitStatus.DONE : ExitStatus.FOUND;
  }
}
