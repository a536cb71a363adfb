package org.pgonce.cli.act;

import java.sql.SQLException;
import org.pgonce.cli.database.Statements;
import picocli.CommandLine.Command;

/** {@code pgonce.adopt}. */
@Command(
    name = "adopt",
    description =
        "Lets listeners start in this database though it is a copy, or was restored. Stop its listeners before.")
public final class AdoptCommand extends ChangeCommand {

  @Override
  long change(Statements statements, String because) throws SQLException {
    statements.rows("SELECT pgonce.adopt(?)", because);
    return statements.number(
        "SELECT (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id > 0) + (SELECT count(*) FROM pgonce.scheduled s WHERE s.subscription_id > 0)");
  }

  @Override
  void report(long touched) {
    output.print(
        terminal(),
        why.done("adopt", "*", null, touched),
        why.dryRun()
            ? "the database would be adopted, and %,d notifications that wait in it handled; nothing was changed"
                .formatted(touched)
            : "the database is adopted: listeners may start, and handle the %,d notifications that wait in it"
                .formatted(touched));
  }
}
