package org.pgonce.benchmarks;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.History;
import org.pgonce.benchmarks.drain.Drainage;
import org.pgonce.benchmarks.work.ByHand;
import org.pgonce.benchmarks.work.ByHand.Steps;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Plan;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How fast a backlog is worked off, beside the same work by hand. */
@Command(
    name = "drain",
    mixinStandardHelpOptions = true,
    description = {
      "Notifications per second that workers of one JVM handle of a backlog: pgonce and the same steps by hand, in turn.",
      "Each in a transaction of its own, or with --shared a hundred in one. The last line is JSON."
    })
final class DrainRun implements Callable<Integer> {

  private static final ByHand BY_HAND = new ByHand(Steps.CLAIM_AND_DELETE);
  private static final History WEEK = History.of(Duration.ofDays(7));
  private static final int SHARED = 100;
  private static final int DEFAULT_COUNT = 20_000;
  private static final int DEFAULT_COUNT_SHARED = 200_000;

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();

  @Option(
      names = "--shared",
      description = "A hundred notifications in each transaction, with a handler of lists.")
  private boolean shared;

  @Option(
      names = "--history",
      description = "pgonce without a history, with one, and with the payloads; nothing by hand.")
  private boolean history;

  private int rounds;
  private int warmUp;
  private int workers;
  private int count;

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "3",
      description = "Rounds, 1 to 100. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--warm-up",
      paramLabel = "<n>",
      defaultValue = "30",
      description =
          "Seconds that each runs before the first round, once at least, 0 to 600. Default"
              + " ${DEFAULT-VALUE}.")
  void warmUp(int value) {
    warmUp = Bounds.require(spec, "--warm-up", value, 0, 600);
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
      description = "Notifications of a turn, 200 to 10,000,000. Default 20,000; shared 200,000.")
  void count(int value) {
    count = Bounds.require(spec, "--count", value, 200, 10_000_000);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    var all = count > 0 ? count : shared ? DEFAULT_COUNT_SHARED : DEFAULT_COUNT;
    var plan = new Plan(workers, shared ? SHARED : 1);
    try (var place = server.open()) {
      var report = new Report("drain", Conditions.read(place.database()), out);
      var contest =
          history
              ? new Contest(place)
                  .with(new ByPgOnce(), plan)
                  .with(ByPgOnce.keeping("pgonce, history", WEEK), plan)
                  .with(ByPgOnce.keeping("pgonce, with payloads", WEEK.withPayloads()), plan)
              : new Contest(place)
                  .with(new ByPgOnce(), plan)
                  .with(ByPgOnce.keyed(), plan)
                  .with(BY_HAND, plan)
                  .with(new ByHand(Steps.DELETE_AT_ONCE), plan);
      var what = shared ? "shared transactions of " + SHARED : "one transaction each";
      var rates =
          new Drainage(contest.entrants(), all, Duration.ofSeconds(warmUp), out::println)
              .run(rounds);
      var result = RateTable.of(what, rates, history ? new ByPgOnce().label() : BY_HAND.label());
      report
          .put("rounds", rounds)
          .put("workers", workers)
          .put("per_transaction", plan.batch())
          .put("count", all)
          .print(result.lines(), result.json());
      return Benchmarks.MEASURED;
    }
  }
}
