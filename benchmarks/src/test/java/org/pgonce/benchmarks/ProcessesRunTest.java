package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The runs that start processes, each on a server of its own: it counts statements. */
class ProcessesRunTest {

  @Test
  void example_anIdleProcessIsCounted() {
    var run =
        new CommandRun(
            "idle", "--processes", "1", "--channels", "2", "--settle", "0", "--seconds", "1");

    var json = run.json();
    assertThat(json.at("/figures/statements_per_minute/median").isNumber()).isTrue();
    assertThat(json.at("/figures/threads/median").doubleValue())
        .isGreaterThan(json.at("/figures/threads_before/median").doubleValue());
    assertThat(json.at("/figures/heap_kib/median").doubleValue()).isPositive();
  }

  @Test
  void example_manyProcessesAreComparedWithOne() {
    var run =
        new CommandRun(
            "herd", "--processes", "2", "--rounds", "1", "--seconds", "1", "--count", "200");

    var json = run.json();
    for (var herd : new String[] {"one", "many"}) {
      assertThat(json.at("/figures/" + herd + "/paced_claims_each/median").doubleValue())
          .isGreaterThanOrEqualTo(1);
      assertThat(json.at("/figures/" + herd + "/saturated_claims_each/median").doubleValue())
          .isBetween(0.01, 1.0);
    }
  }
}
