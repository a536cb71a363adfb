package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LatencyRunTest {

  @Test
  @Tag("all")
  void example_theWaysAreMeasuredDrawnAndComparedWithThoseByHand(@TempDir Path directory)
      throws Exception {
    var run =
        Plotted.onSharedServer(
            directory, "latency", "--rounds=2", "--seconds=1", "--warm-up=1", "--rate=100");

    var json = run.json();
    for (var way : new String[] {"pgonce", "by_hand", "by_hand_json", "bare_notify"}) {
      assertThat(json.at("/figures/" + way + "/p99_us/median").doubleValue())
          .isGreaterThanOrEqualTo(json.at("/figures/" + way + "/p50_us/median").doubleValue());
    }
    assertThat(json.at("/figures/pgonce/p50_us/median").doubleValue()).isPositive();
    assertThat(json.at("/figures/by_hand/p50_ratio").doubleValue()).isEqualTo(1);
    assertThat(json.at("/figures/by_hand_json/p99_ratio_to_by_hand_json").doubleValue())
        .isEqualTo(1);
    assertThat(run.run().lines).anyMatch(line -> line.startsWith("bare NOTIFY "));

    run.assertFiles("latency.svg");
    run.assertCurves("latency.svg", "pgonce", "by hand", "by hand, JSON", "bare NOTIFY");
    run.assertTexts(
        "latency.svg",
        List.of(
            "latency", "percentile", "microseconds from commit to handler", "50", "99", "1,000"),
        "99.5"); // of a hundred rows that would be the slowest
  }
}
