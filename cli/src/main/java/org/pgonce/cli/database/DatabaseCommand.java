package org.pgonce.cli.database;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.Output;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.RefusedException;
import org.pgonce.operations.internal.text.Printable;
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

  private static final int AGAIN_SECONDS = 2;

  @Spec private CommandSpec spec;

  @Mixin protected Output output = new Output();

  @ArgGroup(exclusive = false, heading = "%nThe database:%n")
  protected ConnectionOptions connection = new ConnectionOptions();

  @SuppressWarnings("NullAway.Init") // picocli sets the spec before anything is called
  protected DatabaseCommand() {}

  protected final Terminal terminal() {
    return ((Root) spec.root().userObject()).terminal();
  }

  /**
   * A command that goes on outlives its connection, once it had one: the person on call watches
   * while the database restarts, too.
   */
  @Override
  public final Integer call() throws Exception {
    var isConnected = false;
    var isLost = false;
    while (true) {
      try (var database = connection.open(terminal())) {
        if (isLost) {
          terminal().err().println("pgonce: connected again");
        }
        isConnected = true;
        isLost = false;
        return run(database);
      } catch (RefusedException e) {
        if (!isConnected || !endsWithItsReader() || !Failure.mayPass(e)) {
          throw e;
        }
        if (!isLost) {
          terminal()
              .err()
              .println(
                  "pgonce: %s\nIt is tried again each %d s, until Ctrl-C"
                      .formatted(Printable.lines(String.valueOf(e.getMessage())), AGAIN_SECONDS));
        }
        isLost = true;
      }
      TimeUnit.SECONDS.sleep(AGAIN_SECONDS);
    }
  }

  /** Whether it goes on for as long as somebody reads: then it may run several times. */
  public boolean endsWithItsReader() {
    return false;
  }

  /** Returns the exit status: see {@link ExitStatus}. */
  protected abstract int run(Database database) throws Exception;
}
