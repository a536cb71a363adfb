package org.pgonce.example.run;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.example.run.Watch.Goal;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The server crashes and comes back in the middle of the work (H70). */
@Command(
    name = "restart",
    mixinStandardHelpOptions = true,
    description = {
      "The server is stopped (immediate shutdown, as in a crash) in the middle of the work and started again: the listeners go on by themselves.",
      "Broken also if that takes longer than --within."
    })
public final class RestartRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final WorkOptions work = new WorkOptions();
  @Mixin private final ListenerOptions listening = new ListenerOptions();
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();

  private Duration within = Duration.ZERO;

  @Option(
      names = "--within",
      paramLabel = "<ms>",
      defaultValue = "2000",
      description =
          "The first post must follow within so many milliseconds of the server being up, 1 to 600,000. Default ${DEFAULT-VALUE}.")
  void within(int value) {
    within = Duration.ofMillis(Bounds.require(spec, "--within", value, 1, 600_000));
  }

  @Override
  public Integer call() throws InterruptedException, SQLException {
    try (var stage = Stage.open(server, shown.console())) {
      return run(stage);
    }
  }

  private int run(Stage stage) throws InterruptedException, SQLException {
    var console = stage.console();
    var plan = work.plan(20_000, 0, 20);
    var writers = stage.writers(plan);
    var listeners = stage.listeners(Mode.EXACTLY_ONCE, listening);
    var outage = new Outage(stage, plan.rows() / 3, writers, listening.processes());
    listeners.start(listening.processes());
    listeners.awaitListening();
    console.tell("listeners    " + listening.processes() + " at work");
    writers.start();
    var tally = stage.tally(Mode.EXACTLY_ONCE);
    var done = new Watch(console, tally, writers, listeners, outage).until(Goal.posts(plan.rows()));
    var recovery = outage.recovery();
    listeners.stop();

    var verified = Verification.of(stage.address(), writers.inserted());
    console.say("");
    verified.print(console);
    recovery.print(console);
    var inTime = recovery.firstPostMillis() <= within.toMillis();
    var kept = done && verified.isKept() && verified.authors() == plan.rows() && inTime;
    console.say(
        kept
            ? "kept: every author has exactly one post, and the work went on in time"
            : inTime ? "BROKEN" : "BROKEN: later than " + within.toMillis() + " ms");
    return kept ? ExitStatus.KEPT : ExitStatus.BROKEN;
  }
}
