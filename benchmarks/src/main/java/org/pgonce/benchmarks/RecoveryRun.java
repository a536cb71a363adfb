package org.pgonce.benchmarks;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Spread;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.recovery.Recovery;
import org.pgonce.testkit.JvmProcess;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How soon work that somebody had in his hands is handled again. */
@Command(
    name = "recovery",
    mixinStandardHelpOptions = true,
    description = {
      "Time until another process begins with what one had in its hands that was killed (kill -9); and after an immediate stop of the server, from the moment on when it answers again.",
      "The latter not with --url. The last line is JSON."
    })
final class RecoveryRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();

  private int rounds;

  @Option(
      names = "--rounds",
      paramLabel = "<n>",
      defaultValue = "7",
      description = "How often each is lost, 1 to 100. Default ${DEFAULT-VALUE}.")
  void rounds(int value) {
    rounds = Bounds.require(spec, "--rounds", value, 1, 100);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    try (var place = server.open()) {
      var report = new Report("recovery", Conditions.read(place.database()), out);
      var recovery = new Recovery(place.database());
      var figures = new LinkedHashMap<String, Turns>();
      figures.put("kill_9", recovery.rounds(rounds, JvmProcess::kill9));
      if (place.isOwn()) {
        figures.put("server_restart", recovery.rounds(rounds, holder -> crash(holder, place)));
      }
      var table = new Table("handled again after, ms", "median", "from .. to");
      figures.forEach(
          (what, turns) -> table.row(what, Table.whole(turns)[0], Table.whole(turns)[1]));
      report.put("rounds", rounds).print(table.lines(), json(figures));
      return Benchmarks.MEASURED;
    }
  }

  /** The holder would have it in its hands again. */
  private static void crash(JvmProcess holder, BenchmarkDatabase place) {
    holder.sigstop();
    place.crash();
  }

  private static Map<String, Spread> json(Map<String, Turns> figures) {
    var json = new LinkedHashMap<String, Spread>();
    figures.forEach((what, turns) -> json.put(what, turns.spread()));
    return json;
  }
}
