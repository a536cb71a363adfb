package org.pgonce.example.run;

import org.pgonce.Mode;

/** Several listeners share a stream of inserts while they are killed and replaced (S1). */
final class MainRun implements Watch.Mishap {

  private final Stage stage;
  private final Listeners listeners;
  private final Killer killer;
  private final Writers writers;
  private final Writers.Plan plan;

  /**
   * @param listeners at work
   */
  MainRun(Stage stage, Listeners listeners, Killer killer, Writers.Plan plan) {
    this.stage = stage;
    this.listeners = listeners;
    this.killer = killer;
    this.plan = plan;
    this.writers = stage.writers(plan);
  }

  int run() throws InterruptedException {
    var console = stage.console();
    writers.start();
    var tally = stage.tally(Mode.EXACTLY_ONCE);
    var done =
        new Watch(console, tally, writers, listeners, this).until(Watch.Goal.posts(plan.rows()));
    // Nobody writes any more when it is counted.
    listeners.stop();
    var verified = Verification.of(stage.address(), writers.inserted());
    console.say("");
    verified.print(console);
    Verification.row(console, "kills", killer.killed(), killer.report());
    console.say(
        "by process   %s posts of listener-1, listener-2 and so on, successors included"
            .formatted(Text.byPlace(tally.count().byPlace())));
    if (done && verified.isKept() && verified.authors() == plan.rows()) {
      console.say("kept: every author has exactly one post");
      return ExitStatus.KEPT;
    }
    console.say(done ? "BROKEN" : "BROKEN: nothing has moved for a minute");
    return ExitStatus.BROKEN;
  }

  @Override
  public void step(long handled) {
    killer.step(handled);
    if (killer.hasKeptPromise()) {
      writers.releaseLastRows();
    }
  }

  @Override
  public String soFar() {
    return " | kills " + killer.killed();
  }
}
