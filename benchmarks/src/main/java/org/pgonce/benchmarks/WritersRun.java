package org.pgonce.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.plots.Plot;
import org.pgonce.benchmarks.plots.Plot.Point;
import org.pgonce.benchmarks.work.ByHand;
import org.pgonce.benchmarks.work.ByHand.Steps;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.NoTrigger;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.writers.Field;
import org.pgonce.benchmarks.writers.WritersBenchmark;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What a trigger channel costs many writers at once. */
@Command(
    name = "writers",
    mixinStandardHelpOptions = true,
    description = {
      "Commits per second of many connections that insert one row each, into a table with no trigger, with a storing trigger by hand with NOTIFY and without, and with a trigger channel, without a delivery key and with one.",
      "Each with nobody who listens, and with workers of this JVM that do the work meanwhile, a hundred in a transaction. The last line is JSON."
    })
final class WritersRun implements Callable<Integer> {

  private static final ByHand STORING = new ByHand(Steps.CLAIM_AND_DELETE, false);
  private static final Plan WORKERS = new Plan(4, 100);

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final PlotOptions plots = new PlotOptions();

  private int rounds;
  private Duration time = Duration.ofMillis(1_500);
  private Duration warmUp = Duration.ZERO;

  @Option(
      names = "--writers",
      paramLabel = "<n>",
      split = ",",
      defaultValue = "16,64",
      description = "How many connections, each 1 to 150. Default ${DEFAULT-VALUE}.")
  private List<Integer> writers = List.of();

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "3",
      description = "Rounds, 1 to 100. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--millis",
      paramLabel = "<n>",
      defaultValue = "1500",
      description =
          "Milliseconds that each turn is measured, 100 to 600,000. Default ${DEFAULT-VALUE}.")
  void millis(int value) {
    time = Duration.ofMillis(Bounds.require(spec, "--millis", value, 100, 600_000));
  }

  @Option(
      names = "--warm-up",
      paramLabel = "<n>",
      defaultValue = "12",
      description =
          "Seconds that the workers of each run before the first round, 0 to 600. Default ${DEFAULT-VALUE}.")
  void warmUp(int value) {
    warmUp = Duration.ofSeconds(Bounds.require(spec, "--warm-up", value, 0, 600));
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    writers.forEach(count -> Bounds.require(spec, "--writers", count, 1, 150));
    try (var place = server.open()) {
      var report = new Report("writers", Conditions.read(place.database()), out);
      var contest =
          new Contest(place)
              .with(new NoTrigger(), WORKERS)
              .with(STORING, WORKERS)
              .with(new ByHand(Steps.CLAIM_AND_DELETE), WORKERS)
              .with(new ByPgOnce(), WORKERS)
              .with(ByPgOnce.keyed(), WORKERS);
      var fields =
          new WritersBenchmark(contest.entrants(), writers, time, out::println).run(rounds, warmUp);
      report
          .put("rounds", rounds)
          .put("millis", time.toMillis())
          .print(lines(fields), json(fields));
      plots.draw("writers" + server.suffix(), () -> plot(fields, false));
      plots.draw("writers-with-workers" + server.suffix(), () -> plot(fields, true));
      return Benchmarks.MEASURED;
    }
  }

  /** That with the same writers that stores and does not notify. */
  private static Turns storing(List<Field> fields, Field field) {
    return fields.stream()
        .filter(each -> each.isLike(field) && each.entrant().label().equals(STORING.label()))
        .findFirst()
        .orElseThrow()
        .perSecond();
  }

  private static List<String> lines(List<Field> fields) {
    var table =
        new Table("commits", "writers", "listener", "per second", "from .. to", "to storing");
    for (var field : fields) {
      var row = new ArrayList<String>();
      row.add(field.entrant().label());
      row.add(String.valueOf(field.writers()));
      row.add(field.listening() ? "yes" : "no");
      row.addAll(List.of(Table.whole(field.perSecond())));
      row.add(Table.fine(field.perSecond().ratioTo(storing(fields, field))));
      table.row(row.toArray(String[]::new));
    }
    return table.lines();
  }

  private static Plot plot(List<Field> fields, boolean listening) {
    var what = listening ? "workers at it" : "nobody listens";
    var plot = Plot.of("writers, " + what, "writers", "commits per second");
    for (var label : fields.stream().map(each -> each.entrant().label()).distinct().toList()) {
      var points =
          fields.stream()
              .filter(each -> each.listening() == listening)
              .filter(each -> each.entrant().label().equals(label))
              .map(each -> new Point(each.writers(), each.perSecond().median()))
              .sorted(Comparator.comparingDouble(Point::x))
              .toList();
      plot.curve(label, points);
    }
    return plot;
  }

  private static List<Map<String, Object>> json(List<Field> fields) {
    var json = new ArrayList<Map<String, Object>>();
    for (var field : fields) {
      var one = new LinkedHashMap<String, Object>();
      one.put("kind", field.entrant().key());
      one.put("writers", field.writers());
      one.put("listener", field.listening());
      one.put("per_second", field.perSecond().spread());
      one.put("to_storing", Turns.rounded(field.perSecond().ratioTo(storing(fields, field))));
      json.add(one);
    }
    return json;
  }
}
