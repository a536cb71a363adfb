package org.pgonce.cli.database;

import java.util.concurrent.Callable;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Output;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command that asks the database. The root command's object is the {@link Terminal}'s holder. */
public abstract class DatabaseCommand implements Callable<Integer> {

  /** What the root command is. */
  public interface Root {
    Terminal terminal();
  }

  @Spec private CommandSpec spec;

  @Mixin protected Output output = new Output();

  @ArgGroup(exclusive = false, heading = "%nThe database:%n")
  protected ConnectionOptions connection = new ConnectionOptions();

  @SuppressWarnings("NullAway.Init") // picocli sets the spec before anything is called
  protected DatabaseCommand() {}

  protected final Terminal terminal() {
    return ((Root) spec.root().userObject()).terminal();
  }

  @Override
  public final Integer call() throws Exception {
    try (var database = connection.open(terminal())) {
      var status = run(database);
      if (status == ExitStatus.DONE && !endsWithItsReader() && terminal().out().checkError()) {
        throw new FailedException(
            "it is done, and what it says could not be written: the disk is full, or nobody reads");
      }
      return status;
    }
  }

  /** Whether it goes on for as long as somebody reads. */
  protected boolean endsWithItsReader() {
    return false;
  }

  /** Returns the exit status: see {@link ExitStatus}. */
  protected abstract int run(Database database) throws Exception;
}
