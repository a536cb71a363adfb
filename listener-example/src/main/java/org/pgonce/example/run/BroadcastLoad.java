package org.pgonce.example.run;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.pgonce.Mode;
import org.pgonce.example.run.Tally.Counts;
import org.pgonce.example.run.Watch.Goal;

/**
 * The main run in BROADCAST (S2): each process that is up hears of each author once. Of a process
 * that was killed it is only known that it heard of none twice.
 */
final class BroadcastLoad implements Watch.Mishap {

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final String HEARD_TWICE =
      "select count(*) - count(distinct (written_by, author_id)) from heard";

  private final Stage stage;
  private final Listeners listeners;
  private final Killer killer;
  private final Writers writers;
  private final Writers.Plan plan;

  /**
   * @param listeners at work
   */
  BroadcastLoad(Stage stage, Listeners listeners, Killer killer, Writers.Plan plan) {
    this.stage = stage;
    this.listeners = listeners;
    this.killer = killer;
    this.plan = plan;
    this.writers = stage.writers(plan);
  }

  int run() throws InterruptedException, SQLException {
    var console = stage.console();
    writers.start();
    var tally = stage.tally(Mode.BROADCAST);
    var goal = new Goal(plan.rows(), counts -> missed(counts) == 0, PATIENCE);
    new Watch(console, tally, writers, listeners, this).until(goal);
    var survivors = survivors();
    listeners.stop();
    var counts = tally.count();
    var lost = survivors.stream().mapToLong(one -> Math.max(0, plan.rows() - counts.by(one))).sum();
    var duplicates = Sql.number(stage.address(), HEARD_TWICE);
    console.say("");
    Verification.row(console, "authors", writers.inserted(), "inserted and committed");
    Verification.row(console, "up throughout", survivors.size(), "processes");
    Verification.row(console, "calls", counts.posts(), "of handlers, in all processes");
    Verification.row(console, "lost", lost, "authors that a process which was up did not hear of");
    Verification.row(console, "duplicates", duplicates, "authors that a process heard of again");
    Verification.row(console, "kills", killer.killed(), killer.report());
    var kept = lost == 0 && duplicates == 0;
    console.say(
        kept ? "kept: every process that was up heard of every author exactly once" : "BROKEN");
    return kept ? ExitStatus.KEPT : ExitStatus.BROKEN;
  }

  private List<ListenerProcess> survivors() {
    return listeners.now().stream().filter(ListenerProcess::isFirst).toList();
  }

  private long missed(Counts counts) {
    return survivors().stream().filter(one -> counts.by(one) < plan.rows()).count();
  }

  @Override
  public void step(long handled) {
    killer.step(handled / Math.max(1, listeners.now().size()));
    if (killer.hasKeptPromise()) {
      writers.releaseLastRows();
    }
  }

  @Override
  public String soFar() {
    return " | kills " + killer.killed();
  }
}
