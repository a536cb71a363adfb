package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LatencyRunTest {

  @Test
  void example_theThreeWaysAreMeasuredAndComparedWithTheOneByHand() {
    var run =
        CommandRun.onSharedServer(
            "latency", "--rounds", "1", "--seconds", "1", "--warm-up", "0", "--rate", "100");

    var json = run.json();
    for (var way : new String[] {"pgonce", "by_hand", "bare_notify"}) {
      assertThat(json.at("/figures/" + way + "/p99_us/median").doubleValue())
          .isGreaterThanOrEqualTo(json.at("/figures/" + way + "/p50_us/median").doubleValue());
    }
    assertThat(json.at("/figures/pgonce/p50_us/median").doubleValue()).isPositive();
    assertThat(json.at("/figures/by_hand/p50_ratio").doubleValue()).isEqualTo(1);
    assertThat(run.lines).anyMatch(line -> line.startsWith("bare NOTIFY "));
  }
}
