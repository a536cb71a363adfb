package org.pgonce.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.benchmarks.figures.Spread;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.idle.IdleBenchmark;
import org.pgonce.benchmarks.idle.IdleBenchmark.Footprint;
import org.pgonce.benchmarks.work.StatementCounts;
import org.pgonce.testkit.TestDatabase;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What a process costs that has nothing to do. */
@Command(
    name = "idle",
    mixinStandardHelpOptions = true,
    description = {
      "Statements per minute, the server's time for a poll, threads and heap after a collection of processes that listen to many channels on which nothing comes.",
      "Several processes at once, each with a database of its own. The last line is JSON."
    })
final class IdleRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();

  private int processes;
  private int channels;
  private int settle;
  private int seconds;

  @Option(
      names = "--processes",
      paramLabel = "<n>",
      defaultValue = "3",
      description = "Processes, each with a database, 1 to 20. Default ${DEFAULT-VALUE}.")
  void processes(int value) {
    processes = Bounds.require(spec, "--processes", value, 1, 20);
  }

  @Option(
      names = "--channels",
      paramLabel = "<n>",
      defaultValue = "50",
      description = "Channels of each process, 1 to 1,000. Default ${DEFAULT-VALUE}.")
  void channels(int value) {
    channels = Bounds.require(spec, "--channels", value, 1, 1_000);
  }

  @Option(
      names = "--settle",
      paramLabel = "<n>",
      defaultValue = "15",
      description =
          "Seconds after the start that are not counted, 0 to 600. Default ${DEFAULT-VALUE}.")
  void settle(int value) {
    settle = Bounds.require(spec, "--settle", value, 0, 600);
  }

  @Option(
      names = "--seconds",
      paramLabel = "<n>",
      defaultValue = "60",
      description = "Seconds that are counted, 1 to 3,600. Default ${DEFAULT-VALUE}.")
  void seconds(int value) {
    seconds = Bounds.require(spec, "--seconds", value, 1, 3_600);
  }

  @Override
  public Integer call() throws Exception {
    var out = Objects.requireNonNull(spec).commandLine().getOut();
    try (var place = server.open(StatementCounts.SETTINGS)) {
      var report = new Report("idle", Conditions.read(place.database()), out);
      var counts = StatementCounts.open(place.database());
      var databases = new ArrayList<TestDatabase>();
      for (var i = 0; i < processes; i++) {
        databases.add(place.another());
      }
      var result =
          new IdleBenchmark(databases, counts, channels)
              .run(Duration.ofSeconds(settle), Duration.ofSeconds(seconds));
      report
          .put("processes", processes)
          .put("channels", channels)
          .put("seconds", seconds)
          .print(lines(result), json(result));
      return Benchmarks.MEASURED;
    }
  }

  private List<String> lines(Footprint result) {
    var per = result.statementsPerMinute();
    return new Table("idle, " + channels + " channels", "a process", "from .. to")
        .row("statements per minute", Table.fine(per)[0], Table.fine(per)[1])
        .row(
            "a poll, us of the server",
            Table.whole(result.pollMicros())[0],
            Table.whole(result.pollMicros())[1])
        .row("threads", Table.whole(result.threads())[0], Table.whole(result.threads())[1])
        .row(
            "  before pgonce",
            Table.whole(result.threadsBefore())[0],
            Table.whole(result.threadsBefore())[1])
        .row("heap, KiB", Table.whole(result.heapKib())[0], Table.whole(result.heapKib())[1])
        .lines();
  }

  private static Map<String, Spread> json(Footprint result) {
    var json = new LinkedHashMap<String, Spread>();
    json.put("statements_per_minute", result.statementsPerMinute().spread());
    json.put("poll_us", result.pollMicros().spread());
    json.put("threads", result.threads().spread());
    json.put("threads_before", result.threadsBefore().spread());
    json.put("heap_kib", result.heapKib().spread());
    return json;
  }
}
