package org.pgonce.example;

import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.pgonce.example.latency.Race;
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
      "From commit returning to handler start, one listener, in one JVM: pgonce, a bare NOTIFY through pgjdbc-ng, and a wake-up and claim written by hand, measured in turn.",
      "The medians of the rounds count. The last line is JSON, in microseconds."
    })
final class LatencyRun implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;
  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();

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
      description = "Rounds, 1 to 100; one more is not measured. Default ${DEFAULT-VALUE}.")
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
          "Seconds that each way runs before the first round, at 1,500 rows a second, 1 to 600. Default ${DEFAULT-VALUE}.")
  void warmUp(int value) {
    warmUp = Bounds.require(spec, "--warm-up", value, 1, 600);
  }

  @Override
  public Integer call() throws InterruptedException, SQLException {
    var console = shown.console();
    try (var stage = Stage.open(server, console)) {
      var result = new Race(stage.address(), rate, seconds, warmUp, console::tell).run(rounds);
      console.tell("");
      result.lines().forEach(console::say);
      console.say(result.json());
      return ExitStatus.KEPT;
    }
  }
}
