package org.pgonce.example.run;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Options that say what is shown. */
public final class ConsoleOptions {

  @Spec(Spec.Target.MIXEE)
  private @Nullable CommandSpec spec;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print the result only.")
  private boolean quiet;

  public Console console() {
    return new Console(quiet, Bounds.command(spec).usageMessage().autoWidth(true).width());
  }
}
