package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.benchmarks.plots.Plot;
import org.pgonce.testkit.JvmProcess;

/** The option --plots, with short runs. */
class PlotsTest {

  @TempDir private Path directory;

  private List<String> drawn(String... arguments) throws Exception {
    assumeThat(Plot.whyNot()).as("fonts, of which this JVM finds none").isNull();
    var all = Stream.concat(Stream.of(arguments), Stream.of("--plots", plots().toString()));
    assertThat(CommandRun.onSharedServer(all.toArray(String[]::new)).json().isObject()).isTrue();
    try (var files = Files.list(plots())) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  /** Not there before. */
  private Path plots() {
    return directory.resolve("more").resolve("plots");
  }

  private void assertCurves(String file, String... contenders) throws Exception {
    var drawn = Drawn.read(plots().resolve(file));
    for (var contender : contenders) {
      assertThat(drawn.texts()).containsOnlyOnce(contender);
    }
    assertThat(drawn.colors()).hasSize(contenders.length);
  }

  @Test
  void latencyDrawsACurveForEachContender() throws Exception {
    var files = drawn("latency", "--rounds=2", "--seconds=1", "--warm-up=0", "--rate=100");

    assertThat(files).containsExactly("latency.svg");
    assertCurves("latency.svg", "pgonce", "by hand", "bare NOTIFY");
    assertThat(Drawn.read(plots().resolve("latency.svg")).texts())
        .contains("latency", "percentile", "microseconds from commit to handler")
        .contains("50", "90", "99", "1,000")
        .doesNotContain("99.5"); // of a hundred rows that would be the slowest
  }

  @Test
  void peersDrawACurveForEachLibrary() throws Exception {
    assertThat(drawn("peers", "--rounds=1", "--seconds=1", "--warm-up=1", "--rate=100"))
        .containsExactly("peers.svg");

    assertCurves(
        "peers.svg",
        "pgonce",
        "Spring Integration",
        "transaction-outbox",
        "db-scheduler",
        "JobRunr");
  }

  @Test
  void writersDrawACurveForEachContenderWithWorkersAndWithout() throws Exception {
    assertThat(drawn("writers", "--writers=2,1", "--rounds=1", "--millis=100"))
        .containsExactly("writers-with-workers.svg", "writers.svg");

    var triggers = new String[] {"by hand, no NOTIFY", "by hand", "pgonce"};
    assertCurves("writers-with-workers.svg", triggers);
    assertCurves(
        "writers.svg",
        Stream.concat(Stream.of("no trigger"), Stream.of(triggers)).toArray(String[]::new));
    // Who is in both has the same colour in both: the first, black, is that of the one without a
    // trigger.
    assertThat(Drawn.read(plots().resolve("writers-with-workers.svg")).colors()).doesNotContain("");
  }

  @Test
  void flatDrawsTheRateUnderAnOpenTransaction() throws Exception {
    assertThat(drawn("flat", "--pinned", "--rounds=1", "--count=2000"))
        .containsExactly("flat-pinned.svg");

    assertCurves("flat-pinned.svg", "pgonce", "by hand", "by hand, with a bound");
  }

  @Test
  void whatIsNoCurveIsNotDrawn() throws Exception {
    assertThat(drawn("flat", "--rounds=1", "--backlog=10000", "--handled=100")).isEmpty();
  }

  @Test
  void allHandsTheDirectoryToThoseThatDraw() {
    var given =
        Benchmarks.commandLine()
            .parseArgs("all", "--fsync=off", "--plots", plots().toString())
            .subcommand();

    assertThat(AllRun.arguments(List.of("peers", "--drain"), given))
        .containsExactly("peers", "--drain", "--fsync", "off", "--plots", plots().toString());
    for (var run : AllRun.RUNS) {
      var arguments = AllRun.arguments(run, given);
      var parsed = Benchmarks.commandLine().parseArgs(arguments.toArray(String[]::new));
      assertThat(parsed.subcommand().unmatched()).isEmpty();
      assertThat(arguments.contains("--plots"))
          .as(run.get(0))
          .isEqualTo(List.of("latency", "writers", "peers", "flat").contains(run.get(0)));
    }
  }

  @Test
  void aDirectoryThatCannotBeMadeIsToldBeforeAnythingRuns() throws Exception {
    var file = Files.createFile(directory.resolve("file"));

    for (var benchmark : new String[] {"latency", "all"}) {
      assertRefused(new CommandRun(benchmark, "--plots", file.toString()), file, "it is a file");
      var below = file.resolve("plots");
      assertRefused(new CommandRun(benchmark, "--plots", below.toString()), below, "irectory");
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aDirectoryThatTakesNoFilesIsToldBeforeAnythingRuns() {
    var directory = Path.of("/proc/self"); // not even of root

    assertRefused(new CommandRun("writers", "--plots", "/proc/self"), directory, ":");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aJvmWithoutFontsIsToldBeforeAnythingRuns() throws Exception {
    var nothing = Files.writeString(directory.resolve("fonts.conf"), "<fontconfig/>");
    try (var process =
        JvmProcess.of(Benchmarks.class)
            .environment("FONTCONFIG_FILE", nothing.toString())
            .property("user.home", directory) // a JDK remembers there what it has found
            .arguments("writers", "--plots", plots().toString())
            .start()) {
      assertThat(process.awaitExit(Duration.ofSeconds(60))).isEqualTo(Benchmarks.WRONG_OPTION);
      assertThat(String.join(" ", process.lines()))
          .contains("no plot can be drawn, this JVM finds no fonts")
          .contains("Install fontconfig and a font");
      assertThat(plots()).doesNotExist();
    }
  }

  private static void assertRefused(CommandRun run, Path directory, String why) {
    assertThat(run.status).isEqualTo(Benchmarks.WRONG_OPTION);
    assertThat(run.lines).isEmpty();
    assertThat(run.errors)
        .contains("'--plots'")
        .contains("no plot can be written to " + directory + ": ")
        .contains(why)
        .contains("Name a directory that is there or can be made");
  }
}
