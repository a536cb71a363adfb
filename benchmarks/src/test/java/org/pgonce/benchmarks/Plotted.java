package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.benchmarks.plots.Plot;
import tools.jackson.databind.JsonNode;

/** A run that draws what it has measured, where the JVM has fonts: else it only measures. */
record Plotted(CommandRun run, JsonNode json, Path plots) {

  /**
   * @param directory in which that of the plots is made
   */
  static Plotted onSharedServer(Path directory, String... arguments) {
    var plots = directory.resolve("more").resolve("plots"); // not there before
    var why = Plot.whyNot();
    if (why != null) {
      System.out.println("No plot is drawn, and none looked at: this JVM finds no fonts: " + why);
    }
    var all =
        why == null
            ? Stream.concat(Stream.of(arguments), Stream.of("--plots", plots.toString()))
            : Stream.of(arguments);
    var run = CommandRun.onSharedServer(all.toArray(String[]::new));
    return new Plotted(run, run.json(), plots);
  }

  void assertFiles(String... names) throws Exception {
    if (Plot.whyNot() == null) {
      try (var files = Files.list(plots)) {
        assertThat(files.map(file -> file.getFileName().toString()))
            .containsExactlyInAnyOrder(names);
      }
    }
  }

  void assertCurves(String file, String... contenders) throws Exception {
    if (Plot.whyNot() == null) {
      var drawn = drawn(file);
      for (var contender : contenders) {
        assertThat(drawn.texts()).containsOnlyOnce(contender);
      }
      assertThat(drawn.colors()).hasSize(contenders.length);
    }
  }

  void assertTexts(String file, List<String> there, String notThere) throws Exception {
    if (Plot.whyNot() == null) {
      assertThat(drawn(file).texts()).containsAll(there).doesNotContain(notThere);
    }
  }

  void assertNoColor(String file, String color) throws Exception {
    if (Plot.whyNot() == null) {
      assertThat(drawn(file).colors()).doesNotContain(color);
    }
  }

  private Drawn drawn(String file) throws Exception {
    return Drawn.read(plots.resolve(file));
  }
}
