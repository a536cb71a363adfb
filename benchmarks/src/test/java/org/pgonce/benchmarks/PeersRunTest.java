package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class PeersRunTest {

  /** That the effects are all there is what the run itself looks at, else it has another status. */
  @Test
  @Tag("all")
  void example_everyPeerDoesTheWork() {
    var json =
        CommandRun.onSharedServer(
                "peers", "--drain", "--count", "200", "--rounds", "1", "--warm-up", "1")
            .json();

    assertThat(json.at("/figures").propertyNames())
        .containsExactly(
            "pgonce",
            "spring_integration",
            "transaction_outbox",
            "db_scheduler",
            "jobrunr",
            "pgonce_100_a_transaction");
    for (var figure : json.at("/figures")) {
      assertThat(figure.at("/per_second/median").doubleValue()).isPositive();
    }
    assertThat(json.at("/figures/pgonce/ratio").doubleValue()).isEqualTo(1);
  }
}
