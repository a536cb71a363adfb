package org.pgonce.example.run;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Options that say what is inserted, and by how many. */
final class WorkOptions {

  @Spec(Spec.Target.MIXEE)
  private @Nullable CommandSpec spec;

  private @Nullable Long rows;
  private @Nullable Long rate;
  private int writers;

  @Option(
      names = "--rows",
      paramLabel = "<n>",
      description = "Authors to insert, 1 to 10,000,000. Default 20,000; 2,000 in broadcast.")
  void rows(long value) {
    rows = Bounds.require(spec, "--rows", value, 1, 10_000_000);
  }

  @Option(
      names = "--writers",
      paramLabel = "<n>",
      defaultValue = "4",
      description =
          "Threads that insert, one row and commit each time, 1 to 64. Default ${DEFAULT-VALUE}.")
  void writers(int value) {
    writers = Bounds.require(spec, "--writers", value, 1, 64);
  }

  @Option(
      names = "--rate",
      paramLabel = "<n>",
      description = "Rows per second, 0 for as many as go. Default 0; 500 in broadcast.")
  void rate(long value) {
    rate = Bounds.require(spec, "--rate", value, 0, 1_000_000);
  }

  /**
   * @param heldShare one of so many rows, at the end, waits for {@link Writers#releaseLastRows}; 0
   *     for none
   */
  Writers.Plan plan(long rowsByDefault, long rateByDefault, int heldShare) {
    var all = rows == null ? rowsByDefault : rows;
    var held = heldShare == 0 ? 0 : Math.max(1, all / heldShare);
    return new Writers.Plan(writers, 1, all, held, rate == null ? rateByDefault : rate);
  }
}
