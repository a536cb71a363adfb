package org.pgonce.benchmarks;

import java.sql.SQLException;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.forms.FormsBenchmark;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What each form of a trigger costs the writer. */
@Command(
    name = "forms",
    mixinStandardHelpOptions = true,
    description = {
      "Rows per second that one connection writes to a table with no trigger, with a storing trigger written by hand, and with a trigger channel in each of its forms.",
      "All of them in turn, in several rounds of shuffled order; the medians count. The last line is JSON."
    })
final class FormsRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();

  private int rounds;
  private int rows;

  @Option(
      names = "--seed",
      paramLabel = "<n>",
      description = "Seed of the order within each round. Default random, and printed.")
  private @Nullable Long seed;

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "3",
      description = "Rounds, 1 to 100; one more is not measured. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--rows",
      paramLabel = "<n>",
      defaultValue = "30000",
      description =
          "Rows of a bulk statement's turn, 1,000 to 1,000,000, in whole thousands. Single rows are fewer: a quarter in shared transactions, a twentieth with a commit each. Default ${DEFAULT-VALUE}.")
  void rows(int value) {
    rows = Bounds.require(spec, "--rows", value, 1_000, 1_000_000) / 1_000 * 1_000;
  }

  @Override
  public Integer call() throws SQLException {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    var chosen = seed == null ? ThreadLocalRandom.current().nextLong(1_000_000_000) : seed;
    out.println("seed " + chosen);
    try (var place = server.open()) {
      var conditions = Conditions.read(place.database());
      var benchmark = new FormsBenchmark(place.database(), rows, new Random(chosen));
      var result = benchmark.run(rounds, out::println);
      new Report("forms", conditions, out)
          .put("seed", chosen)
          .put("rounds", rounds)
          .put("rows", rows)
          .print(result.lines(), result.figures());
      return Benchmarks.MEASURED;
    }
  }
}
