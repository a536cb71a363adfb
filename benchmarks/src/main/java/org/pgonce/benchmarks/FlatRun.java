package org.pgonce.benchmarks;

import java.io.PrintWriter;
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
import org.pgonce.benchmarks.flat.Backlogs;
import org.pgonce.benchmarks.flat.Backlogs.Costs;
import org.pgonce.benchmarks.flat.Curve;
import org.pgonce.benchmarks.flat.Pinned;
import org.pgonce.benchmarks.plots.Plot;
import org.pgonce.benchmarks.plots.Plot.Point;
import org.pgonce.benchmarks.work.ByHand;
import org.pgonce.benchmarks.work.ByHand.Steps;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Plan;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether a notification costs the same at any size. */
@Command(
    name = "flat",
    mixinStandardHelpOptions = true,
    description = {
      "What a notification costs with a short backlog and with a long one, one transaction each, by pgonce and by hand.",
      "Or with --pinned: how the rate goes on while somebody holds a transaction open, so that no dead row may be taken away; a hundred in a transaction. The last line is JSON."
    })
final class FlatRun implements Callable<Integer> {

  private static final int SHORT = 10_000;
  private static final Plan SINGLE = Plan.single(8);
  private static final Plan SHARED = new Plan(4, 100);

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final PlotOptions plots = new PlotOptions();

  @Option(names = "--pinned", description = "The rate while somebody holds a transaction open.")
  private boolean pinned;

  private int rounds;
  private int backlog;
  private int handled;
  private int count;
  private int seconds;

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "2",
      description = "Rounds, 1 to 100; one more is not measured. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--backlog",
      paramLabel = "<n>",
      defaultValue = "500000",
      description =
          "The long one, 10,000 to 20,000,000; the short one is 10,000. Default ${DEFAULT-VALUE}.")
  void backlog(int value) {
    backlog = Bounds.require(spec, "--backlog", value, SHORT, 20_000_000);
  }

  @Option(
      names = "--handled",
      paramLabel = "<n>",
      defaultValue = "5000",
      description = "How many of a backlog are handled, 100 to 9,000. Default ${DEFAULT-VALUE}.")
  void handled(int value) {
    handled = Bounds.require(spec, "--handled", value, 100, 9_000);
  }

  @Option(
      names = "--count",
      paramLabel = "<n>",
      defaultValue = "200000",
      description =
          "With --pinned: notifications of a turn, 2,000 to 10,000,000. Default ${DEFAULT-VALUE}.")
  void count(int value) {
    count = Bounds.require(spec, "--count", value, 2_000, 10_000_000);
  }

  @Option(
      names = "--seconds",
      paramLabel = "<n>",
      defaultValue = "15",
      description =
          "With --pinned: a turn ends after this time however far it has come, 1 to 3,600. Default ${DEFAULT-VALUE}.")
  void seconds(int value) {
    seconds = Bounds.require(spec, "--seconds", value, 1, 3_600);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    try (var place = server.open()) {
      var report =
          new Report(pinned ? "flat --pinned" : "flat", Conditions.read(place.database()), out)
              .put("rounds", rounds);
      if (pinned) {
        pinned(place, report, out);
      } else {
        backlogs(place, report, out);
      }
      return Benchmarks.MEASURED;
    }
  }

  private void backlogs(BenchmarkDatabase place, Report report, PrintWriter out) throws Exception {
    var contest =
        new Contest(place)
            .with(new ByPgOnce(), SINGLE)
            .with(new ByHand(Steps.CLAIM_AND_DELETE), SINGLE);
    var all = new Backlogs(contest.entrants(), SHORT, backlog, handled, out::println).run(rounds);
    var table =
        new Table(
            "us a notification",
            "of 10,000",
            "from .. to",
            Table.whole(backlog),
            "from .. to",
            "ratio");
    var json = new LinkedHashMap<String, Object>();
    for (var each : all) {
      var row = new ArrayList<String>();
      row.add(each.entrant().label());
      row.addAll(List.of(Table.whole(each.ofShort())));
      row.addAll(List.of(Table.whole(each.ofLong())));
      row.add(Table.fine(each.ofLong().ratioTo(each.ofShort())));
      table.row(row.toArray(String[]::new));
      json.put(each.entrant().key(), json(each));
    }
    report.put("backlog", backlog).put("handled", handled).print(table.lines(), json);
  }

  private static Map<String, Object> json(Costs costs) {
    var json = new LinkedHashMap<String, Object>();
    json.put("short_us", costs.ofShort().spread());
    json.put("long_us", costs.ofLong().spread());
    json.put("ratio", Turns.rounded(costs.ofLong().ratioTo(costs.ofShort())));
    return json;
  }

  private void pinned(BenchmarkDatabase place, Report report, PrintWriter out) throws Exception {
    var contest =
        new Contest(place)
            .with(new ByPgOnce(), SHARED)
            .with(new ByHand(Steps.CLAIM_AND_DELETE), SHARED)
            .with(new ByHand(Steps.CLAIM_BEHIND_A_BOUND), SHARED);
    var all =
        new Pinned(contest.entrants(), count, Duration.ofSeconds(seconds), out::println)
            .run(rounds);
    var table =
        new Table(
            "per second, pinned",
            "first tenth",
            "from .. to",
            "last",
            "from .. to",
            "ratio",
            "handled");
    var json = new LinkedHashMap<String, Object>();
    for (var each : all) {
      var row = new ArrayList<String>();
      row.add(each.entrant().label());
      row.addAll(List.of(Table.whole(each.first())));
      row.addAll(List.of(Table.whole(each.last())));
      row.add(Table.fine(each.last().ratioTo(each.first())));
      row.add(Table.whole(each.handled().median()));
      table.row(row.toArray(String[]::new));
      json.put(each.entrant().key(), json(each));
    }
    report.put("count", count).put("seconds", seconds).print(table.lines(), json);
    plots.draw("flat-pinned", () -> plot(all));
  }

  private Plot plot(List<Curve> all) {
    var plot = Plot.of("flat --pinned", "notifications handled", "notifications per second");
    for (var each : all) {
      var medians = each.medians();
      var points = new ArrayList<Point>();
      for (var slice = 0; slice < medians.size(); slice++) {
        // A rate is that of a whole slice: it stands at the middle.
        points.add(new Point((slice + 0.5) * count / Curve.SLICES, medians.get(slice)));
      }
      plot.curve(each.entrant().label(), points);
    }
    return plot;
  }

  private static Map<String, Object> json(Curve curve) {
    var json = new LinkedHashMap<String, Object>();
    json.put("first_tenth_per_second", curve.first().spread());
    json.put("last_tenth_per_second", curve.last().spread());
    json.put("ratio", Turns.rounded(curve.last().ratioTo(curve.first())));
    json.put("handled", curve.handled().spread());
    json.put("per_second_by_round_and_slice", curve.rounds());
    return json;
  }
}
