package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("all")
class CpuRunTest {

  @Test
  void example_whatATriggerCostsTheServerIsMeasured() throws Exception {
    var run = CommandRun.onSharedServer("cpu", "--rounds", "1", "--rows", "2000");

    var json = run.json();
    assertThat(json.at("/figures").size()).isEqualTo(9);
    assertThat(json.at("/figures/0/kind").asString()).isEqualTo("no_trigger");
    assertThat(json.at("/figures/0/added/median").doubleValue()).isZero();
    assertThat(json.at("/figures/1/added_to_by_hand").doubleValue()).isEqualTo(1);
    for (var figure : json.at("/figures")) {
      assertThat(figure.at("/micros/median").doubleValue()).isPositive();
    }
    assertThat(run.lines).anyMatch(line -> line.startsWith("pgonce, delivery key  "));
  }
}
