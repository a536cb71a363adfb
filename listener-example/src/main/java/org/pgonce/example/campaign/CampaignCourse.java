package org.pgonce.example.campaign;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.pgonce.example.run.Console;
import org.pgonce.example.run.ExitStatus;
import org.pgonce.example.run.Killer;
import org.pgonce.example.run.Listeners;
import org.pgonce.example.run.Text;

/** From the building of a campaign to its count. For one thread. */
final class CampaignCourse {

  private static final Duration TICK = Duration.ofMillis(20);
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  private final Console console;
  private final Connection connection;
  private final MailServer mails;
  private final OptOuts optOuts;
  private final ServiceOutage outage;
  private long movement = -1;
  private long moved = System.nanoTime();

  record Plan(int recipients, Duration killInterval, Random random) {}

  CampaignCourse(
      Console console,
      Connection connection,
      MailServer mails,
      OptOuts optOuts,
      ServiceOutage outage) {
    this.console = console;
    this.connection = connection;
    this.mails = mails;
    this.optOuts = optOuts;
    this.outage = outage;
  }

  int run(Listeners mailers, int processes, Plan plan) throws SQLException, InterruptedException {
    var begun = System.nanoTime();
    var built = build();
    var again = build();
    console.tell(
        "built        %s lots; built again: %s more"
            .formatted(Text.number(built), Text.number(again)));
    optOuts.step(connection, 0);
    mailers.start(processes);
    mailers.awaitListening();
    var killer = new Killer(new Killer.AtWork(plan.killInterval()), plan.random(), mailers);
    var builtAfterAKill = false;
    while (waiting() > 0 && !isStalled()) {
      mailers.check();
      var delivered = mails.delivered();
      optOuts.step(connection, delivered);
      outage.step(connection);
      killer.step(delivered);
      if (!builtAfterAKill && killer.killed() > 0 && delivered > 0) {
        again += build();
        builtAfterAKill = true;
      }
      console.progress(
          "sent %s | kills %s | opted out %s"
              .formatted(
                  Text.number(delivered),
                  Text.number(killer.killed()),
                  Text.number(optOuts.size())));
      LockSupport.parkNanos(TICK.toNanos());
    }
    console.endProgress("sent " + Text.number(mails.delivered()));
    var seconds = (System.nanoTime() - begun) / 1e9;
    var waiting = waiting();
    mailers.stop();

    var deadLetters = number("select sum(dead_letters) from pgonce.channel_status");
    var result = CampaignResult.of(mails, optOuts, plan.recipients(), deadLetters);
    var pauses = number("select count(*) from pgonce.operation_log where what = 'PAUSE'");
    console.say("");
    row("recipients", plan.recipients(), "of the campaign");
    row("sent", result.sent(), "who got a mail, by the mail service's count");
    row("opted out", result.spared(), "before their mail, and got none");
    row("ignored", result.ignored(), "opted out before, and got one");
    row("twice", result.twice(), "mails beyond the first of their recipient");
    row("lost", result.lost(), "who should have got one and did not");
    row("repeats", mails.dropped(), "calls that the mail service dropped by their key");
    row("lots", built, again + " added by building the campaign again, twice");
    row("dead letters", deadLetters, "lots given up; " + waiting + " still wait");
    row("kills", killer.killed(), killer.report());
    row("pauses", pauses, mails.refused() + " calls while the mail service was down");
    console.say("all of it in " + Text.seconds(seconds));
    var kept =
        result.isKept(plan.recipients())
            && waiting == 0
            && again == 0
            && builtAfterAKill
            && outage.isKept();
    console.say(
        kept
            ? "kept: every recipient who had not opted out has exactly one mail"
            : waiting > 0
                ? "BROKEN: nothing has moved for " + PATIENCE.toSeconds() + " s"
                : "BROKEN");
    return kept ? ExitStatus.KEPT : ExitStatus.BROKEN;
  }

  private long build() throws SQLException {
    return MailCampaign.build(connection, CampaignRun.CAMPAIGN);
  }

  /** Lots that are not done, those that are leased or wait for another attempt included. */
  private long waiting() throws SQLException {
    return number("select sum(backlog + scheduled) from pgonce.channel_status");
  }

  private boolean isStalled() {
    if (mails.delivered() != movement) {
      movement = mails.delivered();
      moved = System.nanoTime();
    }
    return System.nanoTime() - moved > PATIENCE.toNanos();
  }

  private long number(String sql) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    }
  }

  private void row(String what, long number, String explanation) {
    console.say("%-12s %9s  %s".formatted(what, Text.number(number), explanation));
  }
}
