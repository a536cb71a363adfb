package org.pgonce.example.run;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Options that say who listens. */
public final class ListenerOptions {

  @Spec(Spec.Target.MIXEE)
  private @Nullable CommandSpec spec;

  private int processes;
  private int concurrency;

  @Option(
      names = "--processes",
      paramLabel = "<n>",
      defaultValue = "4",
      description = "Listener processes, 1 to 32. Default ${DEFAULT-VALUE}.")
  void processes(int value) {
    processes = Bounds.require(spec, "--processes", value, 1, 32);
  }

  @Option(
      names = "--concurrency",
      paramLabel = "<n>",
      defaultValue = "4",
      description = "Handlers at once in each of them, 1 to 64. Default ${DEFAULT-VALUE}.")
  void concurrency(int value) {
    concurrency = Bounds.require(spec, "--concurrency", value, 1, 64);
  }

  public int processes() {
    return processes;
  }

  public int concurrency() {
    return concurrency;
  }
}
