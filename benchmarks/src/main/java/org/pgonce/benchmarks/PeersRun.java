package org.pgonce.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.drain.Drainage;
import org.pgonce.benchmarks.latency.Race;
import org.pgonce.benchmarks.peers.ByDbScheduler;
import org.pgonce.benchmarks.peers.ByJobRunr;
import org.pgonce.benchmarks.peers.BySpringIntegration;
import org.pgonce.benchmarks.peers.ByTransactionOutbox;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Entrant;
import org.pgonce.benchmarks.work.Plan;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The same work by other libraries. */
@Command(
    name = "peers",
    mixinStandardHelpOptions = true,
    description = {
      "The same work by pgonce and by Spring Integration's PostgreSQL channel, transaction-outbox, db-scheduler and JobRunr, each in turn at the settings that its documentation recommends.",
      "From commit to handler, or with --drain how fast a backlog is worked off. The last line is JSON."
    })
final class PeersRun implements Callable<Integer> {

  private static final ByPgOnce PGONCE = new ByPgOnce();
  private static final int SHARED = 100;
  // More would only have the slowest of them warm up for longer.
  private static final int WARM_UP_PER_SECOND = 200;

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final PlotOptions plots = new PlotOptions();

  @Option(names = "--drain", description = "How fast a backlog is worked off.")
  private boolean drain;

  private int rounds;
  private int rate;
  private int seconds;
  private int warmUp;
  private int workers;
  private int count;

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "2",
      description = "Rounds, 1 to 100. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--rate",
      paramLabel = "<n>",
      defaultValue = "50",
      description = "Pieces of work per second, 1 to 1,000. Default ${DEFAULT-VALUE}.")
  void rate(int value) {
    rate = Bounds.require(spec, "--rate", value, 1, 1_000);
  }

  @Option(
      names = "--seconds",
      paramLabel = "<n>",
      defaultValue = "5",
      description = "Seconds that each turn is measured, 1 to 600. Default ${DEFAULT-VALUE}.")
  void seconds(int value) {
    seconds = Bounds.require(spec, "--seconds", value, 1, 600);
  }

  @Option(
      names = "--warm-up",
      paramLabel = "<n>",
      defaultValue = "8",
      description =
          "Seconds that each runs before the first round, 1 to 600. Default ${DEFAULT-VALUE}.")
  void warmUp(int value) {
    warmUp = Bounds.require(spec, "--warm-up", value, 1, 600);
  }

  @Option(
      names = "--workers",
      paramLabel = "<n>",
      defaultValue = "8",
      description = "Workers, each with a connection, 1 to 64. Default ${DEFAULT-VALUE}.")
  void workers(int value) {
    workers = Bounds.require(spec, "--workers", value, 1, 64);
  }

  @Option(
      names = "--count",
      paramLabel = "<n>",
      defaultValue = "4000",
      description = "Backlog, 200 to 10,000,000. Default ${DEFAULT-VALUE}.")
  void count(int value) {
    count = Bounds.require(spec, "--count", value, 200, 10_000_000);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    try (var place = server.open()) {
      var name = drain ? "peers --drain" : "peers";
      var report =
          new Report(name, Conditions.read(place.database()), out)
              .put("rounds", rounds)
              .put("workers", workers);
      var entrants = entrants(place);
      if (drain) {
        var rates =
            new Drainage(entrants, count, Duration.ofSeconds(warmUp), out::println).run(rounds);
        var result = RateTable.of("a backlog of " + count, rates, PGONCE.label());
        report.put("count", count).print(result.lines(), result.json());
      } else {
        var pace = new Race.Pace(rate, seconds, warmUp, WARM_UP_PER_SECOND);
        var race = new Race(entrants, pace, out::println);
        var result = LatencyTable.of(race.run(rounds), PGONCE.label());
        report.put("per_second", rate).put("seconds", seconds).print(result.lines(), result.json());
        plots.draw("peers", () -> result.plot("peers"));
      }
      return Benchmarks.MEASURED;
    }
  }

  private List<Entrant> entrants(BenchmarkDatabase place) throws Exception {
    var plan = Plan.single(workers);
    var contest =
        new Contest(place)
            .with(PGONCE, plan)
            .with(new BySpringIntegration(), plan)
            .with(new ByTransactionOutbox(), plan)
            .with(new ByDbScheduler(), plan)
            .with(new ByJobRunr(), plan);
    if (drain) {
      contest.with("pgonce, " + SHARED + " a transaction", PGONCE, new Plan(workers, SHARED));
    }
    return contest.entrants();
  }
}
