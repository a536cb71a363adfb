package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.testkit.JvmProcess;

/** The option --plots, with short runs. */
class PlotsTest {

  @TempDir private Path directory;

  /** Not there before. */
  private Path plots() {
    return directory.resolve("more").resolve("plots");
  }

  @Test
  @Tag("all")
  void peersDrawACurveForEachLibrary() throws Exception {
    var run =
        Plotted.onSharedServer(
            directory, "peers", "--rounds=1", "--seconds=1", "--warm-up=1", "--rate=100");

    run.assertFiles("peers.svg");
    run.assertCurves(
        "peers.svg",
        "pgonce",
        "Spring Integration",
        "transaction-outbox",
        "db-scheduler",
        "JobRunr");
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
