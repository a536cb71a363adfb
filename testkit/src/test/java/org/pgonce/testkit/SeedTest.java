package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class SeedTest {

  /** Prints a random number. */
  static final class Dice {
    public static void main(String[] args) {
      System.out.println("number " + Seed.random().nextLong());
    }
  }

  @Test
  void theSamePropertyGivesTheSameNumbersAndSaysHow() throws Exception {
    String number;
    try (var dice = JvmProcess.of(Dice.class).property("pgonce.test.seed", 12345).start()) {
      number = dice.awaitLine("number ", Duration.ofSeconds(20));
      assertThat(dice.lines().get(0)).contains("-Dpgonce.test.seed=12345");
    }
    try (var dice = JvmProcess.of(Dice.class).property("pgonce.test.seed", 12345).start()) {
      assertThat(dice.awaitLine("number ", Duration.ofSeconds(20))).isEqualTo(number);
    }
  }
}
