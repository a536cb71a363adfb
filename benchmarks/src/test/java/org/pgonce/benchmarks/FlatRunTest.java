package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FlatRunTest {

  @Test
  void example_aShortBacklogAndALongOneAreCompared() {
    var json =
        CommandRun.onSharedServer("flat", "--rounds", "1", "--backlog", "10000", "--handled", "100")
            .json();

    for (var way : new String[] {"pgonce", "by_hand"}) {
      assertThat(json.at("/figures/" + way + "/ratio").doubleValue()).isPositive();
    }
  }

  @Test
  void example_theRateUnderAnOpenTransactionIsACurve() {
    var json =
        CommandRun.onSharedServer("flat", "--pinned", "--rounds", "1", "--count", "2000").json();

    for (var way : new String[] {"pgonce", "by_hand", "by_hand_with_a_bound"}) {
      var figure = json.at("/figures/" + way);
      assertThat(figure.at("/per_second_by_round_and_slice/0").size()).isEqualTo(20);
      assertThat(figure.at("/ratio").doubleValue()).isPositive();
    }
  }
}
