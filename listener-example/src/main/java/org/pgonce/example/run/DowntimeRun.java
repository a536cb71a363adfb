package org.pgonce.example.run;

import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.pgonce.Mode;
import org.pgonce.example.run.Watch.Goal;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Rows that arrive while nobody listens are handled once somebody does (S3). */
@Command(
    name = "downtime",
    mixinStandardHelpOptions = true,
    description =
        "Rows arrive (10,000 by default) while every listener is stopped; then listeners start: all are handled without any command.")
public final class DowntimeRun implements Callable<Integer> {

  @Mixin private final WorkOptions work = new WorkOptions();
  @Mixin private final ListenerOptions listening = new ListenerOptions();
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();

  @Override
  public Integer call() throws InterruptedException, SQLException {
    try (var stage = Stage.open(server, shown.console())) {
      return run(stage);
    }
  }

  private int run(Stage stage) throws InterruptedException, SQLException {
    var console = stage.console();
    var listeners = stage.listeners(Mode.EXACTLY_ONCE, listening);
    listeners.start(listening.processes());
    listeners.awaitListening();
    listeners.stop();
    var stillListed = Sql.number(stage.address(), "select count(*) from pgonce.listener_status");
    console.tell(
        "listeners    all stopped with SIGTERM, %d still on the list".formatted(stillListed));

    var plan = work.plan(10_000, 0, 0);
    var writers = stage.writers(plan);
    writers.start();
    writers.awaitEnd();
    var postsMeanwhile = Sql.number(stage.address(), "select count(*) from post");
    console.tell(
        "meanwhile    %s authors inserted, %s posts written"
            .formatted(Text.number(writers.inserted()), Text.number(postsMeanwhile)));

    var begun = System.nanoTime();
    listeners.start(listening.processes());
    var tally = stage.tally(Mode.EXACTLY_ONCE);
    var done =
        new Watch(console, tally, writers, listeners, Watch.Mishap.NONE)
            .until(Goal.posts(plan.rows()));
    var seconds = (System.nanoTime() - begun) / 1e9;
    listeners.stop();

    var verified = Verification.of(stage.address(), writers.inserted());
    console.say("");
    verified.print(console);
    console.say("all handled " + Text.seconds(seconds) + " after the listeners were started");
    var kept = done && verified.isKept() && postsMeanwhile == 0 && stillListed == 0;
    console.say(kept ? "kept: every author has exactly one post" : "BROKEN");
    return kept ? ExitStatus.KEPT : ExitStatus.BROKEN;
  }
}
