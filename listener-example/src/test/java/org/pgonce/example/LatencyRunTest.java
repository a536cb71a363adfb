package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class LatencyRunTest {

  @Test
  void theLastLineIsJsonWithTheThreeWaysAndTheRatio() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer(
            "latency", "--rounds", "1", "--seconds", "1", "--warm-up", "1")) {
      var lines = run.awaitStatus(ExitStatus.KEPT);
      var json = JsonMapper.shared().readTree(lines.get(lines.size() - 1));
      assertThat(json.at("/pgonce/p50_us").doubleValue()).isPositive();
      assertThat(json.at("/by_hand/p99_us").doubleValue()).isPositive();
      assertThat(json.at("/notify/p50_us").isNumber()).isTrue();
      assertThat(json.at("/ratio_p50").doubleValue())
          .isCloseTo(
              json.at("/pgonce/p50_us").doubleValue() / json.at("/by_hand/p50_us").doubleValue(),
              org.assertj.core.data.Percentage.withPercentage(1));
    }
  }
}
