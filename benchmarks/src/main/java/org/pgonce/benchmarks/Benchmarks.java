package org.pgonce.benchmarks;

import java.sql.SQLException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.testkit.Cleanup;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The way to the benchmarks: one command each. */
@Command(
    name = "benchmarks",
    mixinStandardHelpOptions = true,
    version = "pgonce benchmarks",
    description = "What pgonce costs, beside the same work without it and by hand.",
    subcommands = {
      FormsRun.class,
      CpuRun.class,
      LatencyRun.class,
      DrainRun.class,
      WritersRun.class,
      PeersRun.class,
      FlatRun.class,
      IdleRun.class,
      HerdRun.class,
      RecoveryRun.class,
      AllRun.class
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:measured",
      "1:not measured: something was not stored that should have been",
      "2:an option is wrong",
      "3:the run cannot be made: no server, no right"
    })
final class Benchmarks implements Runnable {

  @Spec private @Nullable CommandSpec spec;

  static final int MEASURED = 0;
  static final int MISCOUNTED = 1;
  static final int WRONG_OPTION = 2;
  static final int CANNOT_RUN = 3;

  public static void main(String[] arguments) {
    // Netty's use of sun.misc.Unsafe makes JDK 24 and later warn on the console.
    System.setProperty("io.netty.noUnsafe", "true");
    // Plots are drawn to files, on servers too.
    System.setProperty("java.awt.headless", "true");
    // What libraries log goes where all else goes.
    System.setProperty("org.jboss.logging.provider", "slf4j");
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return new CommandLine(new Benchmarks())
        .setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler((e, arguments) -> wrongOption(e))
        .setExecutionExceptionHandler((e, command, arguments) -> cannotRun(e, command));
  }

  private static int wrongOption(ParameterException e) {
    var command = e.getCommandLine();
    command
        .getErr()
        .printf("%s%nSee: %s --help%n", e.getMessage(), command.getCommandSpec().qualifiedName());
    return WRONG_OPTION;
  }

  private static int cannotRun(Exception e, CommandLine command) {
    if (e instanceof MiscountException) {
      command.getErr().println("miscounted: " + e.getMessage());
      return MISCOUNTED;
    }
    if (!Cleanup.jvmEnds()) {
      var known =
          e instanceof IllegalStateException
              || e instanceof PgOnceException
              || e instanceof SQLException;
      command.getErr().println("cannot run: " + (known ? message(e) : e.toString()));
      LoggerFactory.getLogger(Benchmarks.class).debug("in full", e);
    }
    return CANNOT_RUN;
  }

  private static String message(Exception e) {
    var cause = e.getCause();
    return e.getMessage() + (cause == null ? "" : ": " + cause.getMessage());
  }

  @Override
  public void run() {
    throw new ParameterException(
        Objects.requireNonNull(spec).commandLine(), "say which benchmark; --help lists them");
  }
}
