package org.pgonce.cli;

import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.pgonce.PgOnceException;
import org.pgonce.cli.act.AdoptCommand;
import org.pgonce.cli.act.CancelCommand;
import org.pgonce.cli.act.DiscardCommand;
import org.pgonce.cli.act.PauseCommand;
import org.pgonce.cli.act.PublishCommand;
import org.pgonce.cli.act.RedriveCommand;
import org.pgonce.cli.act.ResumeCommand;
import org.pgonce.cli.act.RetryNowCommand;
import org.pgonce.cli.console.ConsoleCommand;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.doctor.DoctorCommand;
import org.pgonce.cli.look.ChannelsCommand;
import org.pgonce.cli.look.DeadCommand;
import org.pgonce.cli.look.ExplainCommand;
import org.pgonce.cli.look.HistoryCommand;
import org.pgonce.cli.look.ListenersCommand;
import org.pgonce.cli.look.LogCommand;
import org.pgonce.cli.look.PeekCommand;
import org.pgonce.cli.look.StatusCommand;
import org.pgonce.cli.look.TailCommand;
import org.pgonce.cli.schema.GrantsCommand;
import org.pgonce.cli.schema.MigrateCommand;
import org.pgonce.cli.schema.RecordCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.RefusedException;
import org.pgonce.operations.internal.text.Printable;
import picocli.AutoComplete.GenerateCompletion;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** {@code java -jar pgonce.jar}: sees and acts, over the SQL functions and views of pgonce. */
@Command(
    name = "pgonce",
    description = "Sees what pgonce's channels do, and acts on them.",
    versionProvider = VersionOfJar.class,
    subcommands = {
      StatusCommand.class,
      ExplainCommand.class,
      PeekCommand.class,
      HistoryCommand.class,
      DeadCommand.class,
      ListenersCommand.class,
      ChannelsCommand.class,
      LogCommand.class,
      TailCommand.class,
      DoctorCommand.class,
      PauseCommand.class,
      ResumeCommand.class,
      RetryNowCommand.class,
      RedriveCommand.class,
      DiscardCommand.class,
      CancelCommand.class,
      PublishCommand.class,
      AdoptCommand.class,
      MigrateCommand.class,
      GrantsCommand.class,
      RecordCommand.class,
      ConsoleCommand.class,
      GenerateCompletion.class
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:done",
      "1:refused or failed; the message says what was changed, if anything",
      "2:the arguments cannot be read",
      "3:doctor, migrate check or explain has found a problem",
      "130:ended by Ctrl-C"
    })
public final class PgOnceCommand implements DatabaseCommand.Root {

  private static final OptionSpec HELP =
      OptionSpec.builder("-h", "--help").usageHelp(true).description("Shows this.").build();

  // It would print addresses, with a password that may be in one. What it throws is printed here.
  private static final Logger DRIVER = Logger.getLogger("org.postgresql");

  private static final String UNWRITTEN =
      "its output could not be written: the disk is full, or nobody reads";

  private final Terminal terminal;

  PgOnceCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  public static void main(String... arguments) {
    Locale.setDefault(Locale.ROOT); // digits and their groups are the same everywhere
    DRIVER.setLevel(Level.OFF);
    var ended = new EndOnInterrupt(Thread.currentThread());
    var status = run(Terminal.ofProcess(), ended::isAsked, arguments);
    ended.done();
    System.exit(status);
  }

  /**
   * Runs one command in this process.
   *
   * @param ended by Ctrl-C: then nothing that fails is worth a word
   */
  static int run(Terminal terminal, BooleanSupplier ended, String... arguments) {
    var out = new PrintWriter(terminal.out(), true, Charset.defaultCharset());
    var err = new PrintWriter(terminal.err(), true, Charset.defaultCharset());
    var asks = Arrays.stream(arguments).anyMatch(one -> one.startsWith("--password"));
    if (isPasswordGiven(arguments)) {
      return refuse(terminal);
    } else if (Arrays.stream(arguments).anyMatch(Terminal::isUnreadable)) {
      terminal.err().println("pgonce: an argument holds " + Terminal.UNREADABLE);
      return ExitStatus.USAGE;
    }
    var line =
        new CommandLine(new PgOnceCommand(terminal))
            .setOut(out)
            .setErr(err)
            .setUsageHelpAutoWidth(false)
            .setExpandAtFiles(false) // keys and reasons may begin with @
            .setExecutionExceptionHandler(
                (failure, command, result) -> {
                  terminal.progressEnds();
                  return ended.getAsBoolean() ? ExitStatus.FAILED : failed(terminal, failure);
                });
    if (asks) {
      // What is behind --password may be one. picocli would quote it.
      line.setParameterExceptionHandler((failure, given) -> refuse(terminal));
    }
    if (!terminal.interactive()) {
      line.setColorScheme(Help.defaultColorScheme(Ansi.OFF));
    }
    line.getCommandSpec().mixinStandardHelpOptions(true);
    addHelp(line);
    var status = line.execute(arguments);
    out.flush();
    return isUnwritten(status, terminal, line) && !ended.getAsBoolean()
        ? failed(terminal, (changes(line) ? "it is done, and " : "") + UNWRITTEN)
        : status;
  }

  /** A command that goes on ends when nobody reads: that is no failure. */
  private static boolean isUnwritten(int status, Terminal terminal, CommandLine line) {
    return (status == ExitStatus.DONE || status == ExitStatus.FOUND)
        && terminal.out().checkError()
        && !(command(line).userObject() instanceof DatabaseCommand known
            && known.endsWithItsReader());
  }

  private static CommandSpec command(CommandLine line) {
    var parsed = line.getParseResult();
    while (parsed.hasSubcommand()) {
      parsed = parsed.subcommand();
    }
    return parsed.commandSpec();
  }

  /** What changes something has a dry run. */
  private static boolean changes(CommandLine line) {
    return command(line).optionsMap().containsKey("--dry-run");
  }

  /** What stands behind --password, and is no option, would be taken for a channel, and shown. */
  private static boolean isPasswordGiven(String... arguments) {
    for (var at = 1; at < arguments.length; at++) {
      if (arguments[at - 1].equals("--password")
          && (!arguments[at].startsWith("-") || arguments[at].equals("--"))) {
        return true;
      }
    }
    return false;
  }

  private static int refuse(Terminal terminal) {
    terminal
        .err()
        .println(
            "pgonce: the arguments cannot be read. They are not shown, as a password may be among them: --password takes none, and asks for it. Give it last. See --help");
    return ExitStatus.USAGE;
  }

  private static void addHelp(CommandLine line) {
    for (var command : line.getSubcommands().values()) {
      if (!command.getCommandSpec().optionsMap().containsKey("--help")) {
        command.getCommandSpec().addOption(HELP);
      }
      addHelp(command);
    }
  }

  private static int failed(Terminal terminal, Exception failure) throws Exception {
    if (failure instanceof FailedException
        || failure instanceof RefusedException
        || failure instanceof PgOnceException) {
      return failed(terminal, String.valueOf(failure.getMessage()));
    } else if (failure instanceof UsageException) {
      print(terminal, String.valueOf(failure.getMessage()));
      return ExitStatus.USAGE;
    }
    throw failure;
  }

  private static int failed(Terminal terminal, String why) {
    print(terminal, why);
    return ExitStatus.FAILED;
  }

  private static void print(Terminal terminal, String why) {
    var message = Printable.lines(why);
    terminal.err().println(message.startsWith("pgonce") ? message : "pgonce: " + message);
  }

  @Override
  public Terminal terminal() {
    return terminal;
  }
}
