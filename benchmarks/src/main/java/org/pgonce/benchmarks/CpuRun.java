package org.pgonce.benchmarks;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.cpu.CpuBenchmark;
import org.pgonce.benchmarks.cpu.Kind;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What a trigger costs the server in CPU time. */
@Command(
    name = "cpu",
    mixinStandardHelpOptions = true,
    description = {
      "CPU time of the server's process for the insert of one row: with no trigger, with a storing trigger by hand, and with trigger channels. Nobody listens.",
      "The kernel counts it, so that waits for the disk and other processes are not in it. For servers on Linux, with a superuser's login. The last line is JSON."
    })
final class CpuRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();

  private int rounds;
  private int rows;

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "7",
      description = "Rounds, 1 to 100. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Option(
      names = "--rows",
      paramLabel = "<n>",
      defaultValue = "10000",
      description = "Rows of each turn, 100 to 1,000,000. Default ${DEFAULT-VALUE}.")
  void rows(int value) {
    rows = Bounds.require(spec, "--rows", value, 100, 1_000_000);
  }

  @Override
  public Integer call() throws SQLException {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    try (var place = server.open()) {
      var report = new Report("cpu", Conditions.read(place.database()), out);
      var turns = new CpuBenchmark(place.database(), rows, out::println).run(rounds);
      var byHand = added(turns, Kind.BY_HAND);
      var table = new Table("us of CPU", "an insert", "from .. to", "added", "added to by hand");
      var json = new ArrayList<Map<String, Object>>();
      turns.forEach(
          (kind, micros) -> {
            var added = added(turns, kind);
            var ratio = kind == Kind.NO_TRIGGER ? "" : Table.fine(added.ratioTo(byHand));
            var row = new ArrayList<String>(List.of(kind.label()));
            row.addAll(List.of(Table.fine(micros)));
            row.addAll(List.of(Table.fine(added.median()), ratio));
            table.row(row.toArray(String[]::new));
            var one = new LinkedHashMap<String, Object>();
            one.put("kind", kind.key());
            one.put("micros", micros.spread());
            one.put("added", added.spread());
            one.put("added_to_by_hand", Turns.rounded(added.ratioTo(byHand)));
            json.add(one);
          });
      report.put("rounds", rounds).put("rows", rows).print(table.lines(), json);
      return Benchmarks.MEASURED;
    }
  }

  /** What it takes more than an insert without a trigger in the same round. */
  private static Turns added(Map<Kind, Turns> turns, Kind kind) {
    return Objects.requireNonNull(turns.get(kind))
        .minus(Objects.requireNonNull(turns.get(Kind.NO_TRIGGER)));
  }
}
