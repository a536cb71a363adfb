package org.pgonce.cli.act;

import java.sql.SQLException;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Mixin;

/** A command that changes something, in one transaction. */
abstract class ChangeCommand extends DatabaseCommand {

  @Mixin Why why = new Why();

  @Override
  protected final int run(Database database) throws Exception {
    var because = why.because();
    prepare();
    var touched =
        database.write(
            why.dryRun(),
            statements -> {
              why.sign(terminal(), statements);
              return change(statements, because);
            });
    report(touched);
    return ExitStatus.DONE;
  }

  /** Before the transaction. */
  void prepare() throws Exception {}

  /** Returns how many it has touched. */
  abstract long change(Statements statements, String because) throws SQLException;

  abstract void report(long touched);
}
