package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WritersRunTest {

  @Test
  @Tag("all")
  void example_writersAreMeasuredAndDrawnWithAListenerAndWithout(@TempDir Path directory)
      throws Exception {
    var run =
        Plotted.onSharedServer(
            directory, "writers", "--writers=2,1", "--rounds=1", "--millis=500", "--warm-up=1");

    var json = run.json();
    assertThat(json.at("/figures").size()).isEqualTo(18);
    for (var figure : json.at("/figures")) {
      assertThat(figure.at("/per_second/median").doubleValue()).isPositive();
      assertThat(figure.at("/to_storing").doubleValue()).isPositive();
    }
    assertThat(json.at("/figures/0/kind").asString()).isEqualTo("no_trigger");
    assertThat(json.at("/figures/17/kind").asString()).isEqualTo("pgonce_delivery_key");
    assertThat(json.at("/figures/17/listener").booleanValue()).isTrue();

    run.assertFiles("writers-with-workers.svg", "writers.svg");
    var working = "writers-with-workers.svg";
    var both = List.of("by hand, no NOTIFY", "by hand", "pgonce", "pgonce, delivery key");
    run.assertCurves(working, both.toArray(String[]::new));
    run.assertCurves(
        "writers.svg",
        Stream.concat(Stream.of("no trigger"), both.stream()).toArray(String[]::new));
    // Who is in both has the same colour in both: the first, black, is that of the one without a
    // trigger.
    run.assertNoColor(working, "");
  }

  @Test
  void aSlowDiskIsThatOfAnEmbeddedServerWhichWaitsForIt() {
    assertThat(new CommandRun("writers", "--flush=5", "--fsync=off").errors)
        .contains("--flush is for servers that wait for the disk");
    assertThat(CommandRun.onSharedServer("writers", "--flush=5").errors)
        .contains("--flush is for embedded servers");
    assertThat(CommandRun.onSharedServer("writers", "--flush=-1").errors)
        .contains("--flush -1 is not between 0 and 100");
  }
}
