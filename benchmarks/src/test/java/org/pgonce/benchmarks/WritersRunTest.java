package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WritersRunTest {

  @Test
  void example_writersAreMeasuredWithAListenerAndWithout() {
    var json =
        CommandRun.onSharedServer("writers", "--writers", "2", "--rounds", "1", "--millis", "100")
            .json();

    assertThat(json.at("/figures").size()).isEqualTo(7);
    for (var figure : json.at("/figures")) {
      assertThat(figure.at("/per_second/median").doubleValue()).isPositive();
      assertThat(figure.at("/to_storing").doubleValue()).isPositive();
    }
    assertThat(json.at("/figures/0/kind").asString()).isEqualTo("no_trigger");
    assertThat(json.at("/figures/6/kind").asString()).isEqualTo("pgonce");
    assertThat(json.at("/figures/6/listener").booleanValue()).isTrue();
  }
}
