package org.pgonce.example.run;

import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;

/** A run of one scenario from practice: it plays, counts, and ends as the counts say. */
public abstract class Scenario implements Callable<Integer> {

  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();

  /**
   * Plays it, and checks with {@link Scene#check} what it promises.
   *
   * @return the promise in a few words
   */
  protected abstract String play(Scene scene) throws Exception;

  @Override
  public final Integer call() throws Exception {
    try (var stage = Stage.open(server, shown.console());
        var scene = new Scene(stage)) {
      var promise = play(scene);
      stage.console().say(scene.isKept() ? "kept: " + promise : "BROKEN");
      return scene.isKept() ? ExitStatus.KEPT : ExitStatus.BROKEN;
    }
  }
}
