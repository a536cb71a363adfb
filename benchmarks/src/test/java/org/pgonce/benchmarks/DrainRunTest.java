package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DrainRunTest {

  @ParameterizedTest
  @ValueSource(strings = {"--workers=2", "--shared"})
  void example_aBacklogIsWorkedOffByPgonceAndByHand(String how) {
    var json =
        CommandRun.onSharedServer("drain", "--count", "200", "--rounds=1", "--warm-up=0", how)
            .json();

    for (var way :
        new String[] {"pgonce", "pgonce_delivery_key", "by_hand", "by_hand_one_statement"}) {
      assertThat(json.at("/figures/" + way + "/per_second/median").doubleValue()).isPositive();
    }
    assertThat(json.at("/figures/by_hand/ratio").doubleValue()).isEqualTo(1);
    assertThat(json.at("/per_transaction").intValue()).isEqualTo(how.equals("--shared") ? 100 : 1);
  }

  @Test
  void anOptionOutOfItsBoundsIsTold() {
    assertThat(new CommandRun("drain", "--workers", "0").errors)
        .contains("--workers 0 is not between 1 and 64");
  }
}
