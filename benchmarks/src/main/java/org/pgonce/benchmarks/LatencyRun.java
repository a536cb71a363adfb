package org.pgonce.benchmarks;

import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.latency.Race;
import org.pgonce.benchmarks.work.ByHand;
import org.pgonce.benchmarks.work.ByNotify;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Plan;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What pgonce costs between commit and handler, beside the same work by hand. */
@Command(
    name = "latency",
    mixinStandardHelpOptions = true,
    description = {
      "From commit returning to handler start, one listener, in one JVM: pgonce, a bare NOTIFY through pgjdbc-ng, and a wake-up and claim written by hand, over columns and over JSON, measured in turn.",
      "The medians of the rounds count. The last line is JSON."
    })
final class LatencyRun implements Callable<Integer> {

  private static final ByHand BY_HAND = new ByHand(ByHand.Steps.CLAIM_AND_DELETE);
  private static final ByHand WITH_JSON = new ByHand(ByHand.Steps.CLAIM_JSON_AND_DELETE);

  private static final int WARM_UP_PER_SECOND = 1_500;

  // What a listener of pgonce has by default. By hand there is one thread: more do not help here.
  private static final Plan DEFAULT = Plan.single(4);
  private static final Plan ONE = Plan.single(1);

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final PlotOptions plots = new PlotOptions();

  private int rate;
  private int rounds;
  private int seconds;
  private int warmUp;

  @Option(
      names = "--rate",
      paramLabel = "<n>",
      defaultValue = "50",
      description = "Inserts per second, 1 to 10,000. Default ${DEFAULT-VALUE}.")
  void rate(int value) {
    rate = Bounds.require(spec, "--rate", value, 1, 10_000);
  }

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "5",
      description = "Rounds, 1 to 100. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--seconds",
      paramLabel = "<n>",
      defaultValue = "4",
      description = "Seconds that each turn is measured, 1 to 600. Default ${DEFAULT-VALUE}.")
  void seconds(int value) {
    seconds = Bounds.require(spec, "--seconds", value, 1, 600);
  }

  // 18,000 rows by default: past the 5,000 to 15,000 calls after which HotSpot compiles for good.
  @Option(
      names = "--warm-up",
      paramLabel = "<n>",
      defaultValue = "12",
      description =
          "Seconds that each way runs before the first round, at 1,500 rows a second, 0 to 600. Default ${DEFAULT-VALUE}.")
  void warmUp(int value) {
    warmUp = Bounds.require(spec, "--warm-up", value, 0, 600);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    try (var place = server.open()) {
      var report = new Report("latency", Conditions.read(place.database()), out);
      var pace = new Race.Pace(rate, seconds, warmUp, WARM_UP_PER_SECOND);
      var contest =
          new Contest(place)
              .with(new ByPgOnce(), DEFAULT)
              .with(BY_HAND, ONE)
              .with(WITH_JSON, ONE)
              .with(new ByNotify(), ONE);
      var race = new Race(contest.entrants(), pace, out::println);
      var result = LatencyTable.of(race.run(rounds), BY_HAND.label(), WITH_JSON.label());
      report
          .put("rounds", rounds)
          .put("per_second", rate)
          .put("seconds", seconds)
          .print(result.lines(), result.json());
      plots.draw("latency", () -> result.plot("latency"));
      return Benchmarks.MEASURED;
    }
  }
}
