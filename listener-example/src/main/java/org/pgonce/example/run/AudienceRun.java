package org.pgonce.example.run;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.pgonce.Mode;
import org.pgonce.example.run.Watch.Goal;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** BROADCAST: who is up is called, nothing waits for who is not (S2). */
@Command(
    name = "audience",
    mixinStandardHelpOptions = true,
    description =
        "One author while all processes are up (3 by default): one call in each. One while none is: no call, then and later.")
public final class AudienceRun implements Callable<Integer> {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final String CALLS = "select count(*) from heard where author_id = %d";

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
    var processes = listening.processes();
    var listeners = stage.listeners(Mode.BROADCAST, listening);
    listeners.start(processes);
    listeners.awaitListening();
    insert(stage, listeners, 1, processes);
    listeners.stop();
    console.tell("listeners    all stopped");
    insert(stage, listeners, 2, 0);
    listeners.start(processes);
    listeners.awaitListening();
    // What was said to nobody would have to come before this one.
    insert(stage, listeners, 3, processes);
    listeners.stop();

    var first = Sql.number(stage.address(), CALLS.formatted(1));
    var second = Sql.number(stage.address(), CALLS.formatted(2));
    var third = Sql.number(stage.address(), CALLS.formatted(3));
    Verification.row(
        console, "all up", first, "calls for one author, of " + processes + " processes");
    Verification.row(console, "none up", second, "calls for one author");
    Verification.row(console, "all up again", third, "calls for one author");
    var kept = first == processes && second == 0 && third == processes;
    console.say(kept ? "kept: one call in each process that is up" : "BROKEN");
    return kept ? ExitStatus.KEPT : ExitStatus.BROKEN;
  }

  private static void insert(Stage stage, Listeners listeners, long author, long moreCalls)
      throws InterruptedException, SQLException {
    var before = Sql.number(stage.address(), "select count(*) from heard");
    var writers = stage.writers(new Writers.Plan(1, author, 1, 0, 0));
    writers.start();
    writers.awaitEnd();
    var goal = new Goal(0, counts -> counts.posts() >= before + moreCalls, PATIENCE);
    var unused =
        new Watch(
                stage.console(), stage.tally(Mode.BROADCAST), writers, listeners, Watch.Mishap.NONE)
            .until(goal);
  }
}
