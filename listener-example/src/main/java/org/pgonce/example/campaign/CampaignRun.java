package org.pgonce.example.campaign;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnce;
import org.pgonce.example.run.Bounds;
import org.pgonce.example.run.ConsoleOptions;
import org.pgonce.example.run.ListenerOptions;
import org.pgonce.example.run.ServerOptions;
import org.pgonce.example.run.Stage;
import org.pgonce.operations.Operations;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A mail campaign whose processes are killed at random throughout (S11). */
@Command(
    name = "s11-campaign",
    mixinStandardHelpOptions = true,
    description = {
      "A mail campaign in lots of 20, while the processes that send it are killed at random, some recipients opt out, and the mail service is down for a while.",
      "In the end every recipient that did not opt out has exactly one mail."
    })
public final class CampaignRun implements Callable<Integer> {

  static final String CAMPAIGN = "cmp_42";

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ListenerOptions listening = new ListenerOptions();
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();

  private int recipients;
  private Duration killInterval = Duration.ZERO;
  private Duration outage = Duration.ZERO;

  @Option(
      names = "--seed",
      paramLabel = "<n>",
      description = "Seed of all chance: who is killed, who opts out. Default random, and printed.")
  private @Nullable Long seed;

  @Option(
      names = "--recipients",
      paramLabel = "<n>",
      defaultValue = "50000",
      description = "Recipients, 100 to 1,000,000. Default ${DEFAULT-VALUE}.")
  void recipients(int value) {
    recipients = Bounds.require(spec, "--recipients", value, 100, 1_000_000);
  }

  @Option(
      names = "--kill-interval",
      paramLabel = "<ms>",
      defaultValue = "200",
      description =
          "Kill one of the processes at work every so many milliseconds, 10 to 60,000, as soon as two are. Default ${DEFAULT-VALUE}.")
  void killInterval(int value) {
    killInterval = Duration.ofMillis(Bounds.require(spec, "--kill-interval", value, 10, 60_000));
  }

  @Option(
      names = "--outage",
      paramLabel = "<ms>",
      defaultValue = "2000",
      description =
          "How long the mail service stays down after the campaign has paused, 100 to 60,000. Default ${DEFAULT-VALUE}.")
  void outage(int value) {
    outage = Duration.ofMillis(Bounds.require(spec, "--outage", value, 100, 60_000));
  }

  @Override
  public Integer call() throws InterruptedException, SQLException, IOException {
    var console = shown.console();
    var chosen = seed == null ? ThreadLocalRandom.current().nextLong(1_000_000_000) : seed;
    console.say("seed         " + chosen);
    try (var stage = Stage.open(server, console)) {
      var mails = stage.add(MailServer.start());
      HikariDataSource pool = stage.add(stage.address().pool("campaign", 3));
      var pgonce = stage.add(PgOnce.builder(pool).instance("campaign").build());
      pgonce.install(MailCampaign.LOTS);
      var operations = Operations.over(pool).by("campaign");
      var outcome = new ServiceOutage(mails, operations, console, outage, recipients / 2);
      try (var connection = pool.getConnection()) {
        createTables(connection);
        CampaignResult.createSubscribers(connection, recipients);
        var optOuts = new OptOuts(recipients / 50, recipients, new Random(chosen));
        var mailers =
            stage.listeners(
                MailerMain.class,
                Integer.toString(listening.concurrency()),
                mails.address().toString());
        var course = new CampaignCourse(console, connection, mails, optOuts, outcome);
        return course.run(
            mailers,
            listening.processes(),
            new CampaignCourse.Plan(recipients, killInterval, new Random(chosen)));
      }
    }
  }

  private static void createTables(Connection connection) throws SQLException, IOException {
    try (var in = CampaignRun.class.getResourceAsStream("campaign.sql");
        var statement = connection.createStatement()) {
      if (in == null) {
        throw new IllegalStateException("campaign.sql is missing from the jar of the example");
      }
      statement.execute(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    }
  }
}
