package org.pgonce.cli.look;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.DurationOption;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.LookStatements;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The view {@code pgonce.channel_status}. */
@Command(
    name = "status",
    description = {
      "What waits, what failed, who listens, what is paused; per subscription. HINT: where it may look idle and is not.",
      "It judges nothing, so its exit status is 0 whatever it shows: explain and doctor end with 3 where a person is needed."
    })
public final class StatusCommand extends DatabaseCommand {

  private static final String STATUS =
      """
      SELECT s.channel, s.subscription, s.mode, s.feed, s.backlog, s.scheduled, s.retrying, coalesce(s.most_attempts, 0) AS most_attempts, s.oldest_age,
             s.dead_letters, s.listeners, s.outdated_listeners, s.notify_gate, s.paused_since, s.paused_by, s.pause_reason, s.hint,
             pg_is_in_recovery() AS standby
        FROM pgonce.channel_status s WHERE s.channel = coalesce(?, s.channel) ORDER BY s.channel, s.subscription
      """;
  private static final String TO_THE_TOP = "\u001b[H\u001b[2J";

  @Parameters(arity = "0..1", paramLabel = "CHANNEL", description = "Default: all")
  private @Nullable String channel;

  @Option(
      names = {"-w", "--watch"},
      description = "Again and again, until Ctrl-C. With -o json: one document a line")
  private boolean watches;

  @Option(
      names = "--every",
      paramLabel = DurationOption.LABEL,
      converter = DurationOption.class,
      defaultValue = "2",
      description = "How often --watch looks: 5 (seconds), 1m. Default: 2")
  private Duration every = Duration.ofSeconds(2);

  @Override
  protected int run(Database database) throws InterruptedException {
    var seconds =
        DurationOption.secondsOf("--every", every, Duration.ofSeconds(1), Duration.ofHours(1));
    var out = terminal().out();
    do {
      var rows = database.read(STATUS, channel);
      if (watches && terminal().interactive() && !output.isJson()) {
        out.print(TO_THE_TOP);
      }
      output.print(
          terminal(),
          rows,
          channel == null ? "no channel is installed" : "channel " + channel + " is not installed",
          "channel",
          "subscription",
          "backlog",
          "scheduled",
          "retrying=of them retrying",
          "dead_letters=dead",
          "oldest_age=oldest",
          "listeners",
          "outdated_listeners=outdated",
          "pause_reason=paused",
          "hint");
      if (!output.isJson() && rows.column("standby").contains(true)) {
        out.println(LookStatements.STANDBY);
      }
      // A closed pipe: who read has enough.
    } while (watches && !out.checkError() && waited(seconds));
    return ExitStatus.DONE;
  }

  @Override
  public boolean endsWithItsReader() {
    return watches;
  }

  private static boolean waited(int seconds) throws InterruptedException {
    TimeUnit.SECONDS.sleep(seconds);
    return true;
  }
}
