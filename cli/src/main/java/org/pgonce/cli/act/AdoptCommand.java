package org.pgonce.cli.act;

import java.sql.SQLException;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Command;

/** {@code pgonce.adopt}. */
@Command(
    name = "adopt",
    description =
        "Lets listeners start in this database though it is a copy, or was restored. Stop its listeners before.")
public final class AdoptCommand extends ChangeCommand {

  private static final String MAY_ADOPT =
      "SELECT has_function_privilege('pgonce.adopt(text)', 'EXECUTE')";
  private static final String NO_COPY =
      "\nIt is not known as a copy: adopt it only after a failover or a restore that lost commits";
  private static final String IS_COPY = "SELECT pgonce.copy_of_another() IS NOT NULL";
  private static final String WAITING =
      "SELECT (SELECT count(*) FROM pgonce.notification n WHERE n.subscription_id > 0) + (SELECT count(*) FROM pgonce.scheduled s WHERE s.subscription_id > 0)";

  private boolean isCopy;

  @Override
  long change(Statements statements, String because) throws SQLException {
    if (!statements.isTrue(MAY_ADOPT)) {
      throw new SQLException("permission denied for function adopt", "42501");
    }
    isCopy = statements.isTrue(IS_COPY);
    var waiting = statements.number(WAITING);
    // It moves a sequence on, which no rollback takes back.
    if (!why.dryRun()) {
      statements.rows("SELECT pgonce.adopt(?)", because);
    }
    return waiting;
  }

  @Override
  void report(long touched) {
    output.print(
        terminal(),
        why.done("adopt", "*", null, touched),
        (why.dryRun()
                ? "the database would be adopted, and %,d notifications that wait in it handled; nothing was changed"
                    .formatted(touched)
                : "the database is adopted: listeners may start, and handle the %,d notifications that wait in it"
                    .formatted(touched))
            + (isCopy ? "" : NO_COPY));
  }
}
