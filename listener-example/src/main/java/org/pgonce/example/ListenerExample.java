package org.pgonce.example;

import java.sql.SQLException;
import java.util.List;
import org.pgonce.PgOnceException;
import org.pgonce.example.campaign.CampaignRun;
import org.pgonce.example.run.AudienceRun;
import org.pgonce.example.run.CannotRunException;
import org.pgonce.example.run.DowntimeRun;
import org.pgonce.example.run.ExitStatus;
import org.pgonce.example.run.MainCommand;
import org.pgonce.example.run.MistakeRun;
import org.pgonce.example.run.RestartRun;
import org.pgonce.example.scenario.AnyDelay;
import org.pgonce.example.scenario.BatchWithFailure;
import org.pgonce.example.scenario.CampaignBuiltTwice;
import org.pgonce.example.scenario.CampaignTick;
import org.pgonce.example.scenario.DelayedMail;
import org.pgonce.example.scenario.MailServiceDown;
import org.pgonce.example.scenario.OptOutDuringRun;
import org.pgonce.example.scenario.OverdueSweep;
import org.pgonce.example.scenario.PaymentGuard;
import org.pgonce.example.scenario.ResumedOrder;
import org.pgonce.example.scenario.StoredResponse;
import org.pgonce.testkit.Cleanup;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** The command line: the main run, and a command for each further one. */
final class ListenerExample {

  private static final List<Class<?>> COMMANDS =
      List.of(
          DowntimeRun.class,
          RestartRun.class,
          AudienceRun.class,
          MistakeRun.class,
          DelayedMail.class,
          AnyDelay.class,
          PaymentGuard.class,
          StoredResponse.class,
          ResumedOrder.class,
          OverdueSweep.class,
          BatchWithFailure.class,
          CampaignRun.class,
          CampaignBuiltTwice.class,
          CampaignTick.class,
          OptOutDuringRun.class,
          MailServiceDown.class);

  private ListenerExample() {}

  public static void main(String[] arguments) {
    // Netty's use of sun.misc.Unsafe makes JDK 24 and later warn on the console.
    System.setProperty("io.netty.noUnsafe", "true");
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    var line = new CommandLine(new MainCommand());
    COMMANDS.forEach(line::addSubcommand);
    return line.setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler((e, arguments) -> wrongOption(e))
        .setExecutionExceptionHandler((e, command, arguments) -> cannotRun(e));
  }

  private static int wrongOption(ParameterException e) {
    var command = e.getCommandLine();
    command
        .getErr()
        .printf("%s%nSee: %s --help%n", e.getMessage(), command.getCommandSpec().qualifiedName());
    return ExitStatus.WRONG_OPTION;
  }

  private static int cannotRun(Exception e) {
    if (!Cleanup.jvmEnds()) {
      var known =
          e instanceof CannotRunException
              || e instanceof PgOnceException
              || e instanceof SQLException;
      System.err.println("cannot run: " + (known ? e.getMessage() : e.toString()));
      LoggerFactory.getLogger(ListenerExample.class).debug("in full", e);
    }
    return ExitStatus.CANNOT_RUN;
  }
}
