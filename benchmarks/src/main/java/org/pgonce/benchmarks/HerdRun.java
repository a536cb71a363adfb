package org.pgonce.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.herd.Herd;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.StatementCounts;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What many processes cost that listen to one channel. */
@Command(
    name = "herd",
    mixinStandardHelpOptions = true,
    description = {
      "Claim statements per notification and the time from commit to handler, with one listener process and with many: JVMs of their own, each group with a database of its own.",
      "At a pace, and with more work than they can do. The last line is JSON."
    })
final class HerdRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();

  private int processes;
  private int rounds;
  private int rate;
  private int seconds;
  private int count;
  private int batch;
  private int workers;
  private int handler;

  @Option(
      names = "--processes",
      paramLabel = "<n>",
      defaultValue = "16",
      description = "Processes of the larger group, 2 to 128. Default ${DEFAULT-VALUE}.")
  void processes(int value) {
    processes = Bounds.require(spec, "--processes", value, 2, 128);
  }

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "3",
      description = "Rounds, 1 to 100; one more is not measured. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--rate",
      paramLabel = "<n>",
      defaultValue = "100",
      description = "Notifications per second at the pace, 1 to 1,000. Default ${DEFAULT-VALUE}.")
  void rate(int value) {
    rate = Bounds.require(spec, "--rate", value, 1, 1_000);
  }

  @Option(
      names = "--seconds",
      paramLabel = "<n>",
      defaultValue = "5",
      description = "Seconds of the pace in each turn, 1 to 600. Default ${DEFAULT-VALUE}.")
  void seconds(int value) {
    seconds = Bounds.require(spec, "--seconds", value, 1, 600);
  }

  @Option(
      names = "--count",
      paramLabel = "<n>",
      defaultValue = "50000",
      description =
          "Notifications that are stored at once in each turn, 200 to 10,000,000. Default ${DEFAULT-VALUE}.")
  void count(int value) {
    count = Bounds.require(spec, "--count", value, 200, 10_000_000);
  }

  @Option(
      names = "--batch",
      paramLabel = "<n>",
      defaultValue = "100",
      description =
          "How many notifications one transaction handles at most, 1 to 1,000. Default ${DEFAULT-VALUE}.")
  void batch(int value) {
    batch = Bounds.require(spec, "--batch", value, 1, 1_000);
  }

  @Option(
      names = "--workers",
      paramLabel = "<n>",
      defaultValue = "4",
      description = "Workers of each process, 1 to 64. Default ${DEFAULT-VALUE}.")
  void workers(int value) {
    workers = Bounds.require(spec, "--workers", value, 1, 64);
  }

  @Option(
      names = "--handler",
      paramLabel = "<ms>",
      defaultValue = "0",
      description =
          "Milliseconds that a handler takes beside its effect, 0 to 1,000. Default ${DEFAULT-VALUE}.")
  void handler(int value) {
    handler = Bounds.require(spec, "--handler", value, 0, 1_000);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    var settings = new LinkedHashMap<>(StatementCounts.SETTINGS);
    settings.put("max_connections", String.valueOf(50 + (processes + 1) * connections()));
    try (var place = server.open(settings)) {
      var report = new Report("herd", Conditions.read(place.database()), out);
      var counts = StatementCounts.open(place.database());
      var plan = new Plan(workers, batch);
      var takes = Duration.ofMillis(handler);
      var one = place.add(Herd.start(place.another(), counts, 1, plan, takes));
      var many = place.add(Herd.start(place.another(), counts, processes, plan, takes));
      out.println(many + " listen");
      var herds = List.of(one, many);
      for (var herd : herds) {
        herd.warmUp(rate, count);
      }
      for (var round = 1; round <= rounds; round++) {
        for (var herd : herds) {
          herd.paced(rate, seconds);
          herd.saturated(count);
        }
        out.println("round " + round + " done");
      }
      report
          .put("rounds", rounds)
          .put("per_second", rate)
          .put("count", count)
          .put("per_transaction", batch)
          .put("workers", workers)
          .put("handler_ms", handler)
          .print(lines(herds), json(herds));
      return Benchmarks.MEASURED;
    }
  }

  /** Each process may have its workers', two more, and the one that listens. */
  private int connections() {
    return workers + 3;
  }

  private List<String> lines(List<Herd> herds) {
    var lines = new ArrayList<String>();
    var paced =
        new Table(
            "at " + rate + " a second",
            "claims each",
            "from .. to",
            "p50 us",
            "from .. to",
            "p99 us",
            "from .. to");
    var saturated = new Table("saturated", "claims each", "from .. to", "per second", "from .. to");
    for (var herd : herds) {
      var row = new ArrayList<>(List.of(herd.toString()));
      row.addAll(List.of(Table.fine(herd.pacedClaims())));
      row.addAll(List.of(Table.whole(herd.p50())));
      row.addAll(List.of(Table.whole(herd.p99())));
      paced.row(row.toArray(String[]::new));
      var busy = new ArrayList<>(List.of(herd.toString()));
      busy.addAll(List.of(Table.fine(herd.saturatedClaims())));
      busy.addAll(List.of(Table.whole(herd.perSecond())));
      saturated.row(busy.toArray(String[]::new));
    }
    lines.addAll(paced.lines());
    lines.add("");
    lines.addAll(saturated.lines());
    return lines;
  }

  private static Map<String, Object> json(List<Herd> herds) {
    var json = new LinkedHashMap<String, Object>();
    for (var herd : herds) {
      var one = new LinkedHashMap<String, Object>();
      one.put("paced_claims_each", herd.pacedClaims().spread());
      one.put("p50_us", herd.p50().spread());
      one.put("p99_us", herd.p99().spread());
      one.put("saturated_claims_each", herd.saturatedClaims().spread());
      one.put("saturated_per_second", herd.perSecond().spread());
      one.put("p50_ratio", Turns.rounded(herd.p50().ratioTo(herds.get(0).p50())));
      one.put("p99_ratio", Turns.rounded(herd.p99().ratioTo(herds.get(0).p99())));
      json.put(herd.size() == 1 ? "one" : "many", one);
    }
    return json;
  }
}
