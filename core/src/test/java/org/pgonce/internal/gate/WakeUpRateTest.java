package org.pgonce.internal.gate;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class WakeUpRateTest {

  private final NotifyGate.Rate rate = new NotifyGate.Rate();
  private long now = System.nanoTime();

  private void heard(int count, Duration apart) {
    for (var i = 0; i < count; i++) {
      now += apart.toNanos();
      rate.heard(now);
    }
  }

  @Test
  void twentyFiveInATenthOfASecondAreMany() {
    heard(24, Duration.ofMillis(3));
    assertThat(rate.isMany()).isFalse();
    heard(1, Duration.ofMillis(3));
    assertThat(rate.isMany()).isTrue();
  }

  @Test
  void threeInATenthOfASecondAreSome() {
    heard(2, Duration.ofMillis(30));
    assertThat(rate.isSome()).isFalse();
    heard(1, Duration.ofMillis(30));
    assertThat(rate.isSome()).isTrue();
    assertThat(rate.isMany()).isFalse();
  }

  @Test
  void fewerAreNeverSomeHoweverLongTheyGoOn() {
    for (var i = 0; i < 100; i++) {
      heard(1, Duration.ofMillis(60));
      assertThat(rate.isSome()).isFalse();
    }
  }

  @Test
  void countingBeginsAnewWhenTheGateIsOpened() {
    heard(25, Duration.ofMillis(1));
    rate.reset();
    assertThat(rate.isSome()).isFalse();
  }
}
