package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.Rush.Worth;

/** When it is worth it to be awake; the test makes the time. */
class RushTest {

  private final Rush rush = new Rush();
  private long now = System.nanoTime();

  /** The first one that is enough; 0 if none is. */
  private int hear(int wakeUps, Duration each, boolean isFirst) {
    return hear(wakeUps, each, isFirst, isFirst, Worth.SURELY);
  }

  private int asks(int wakeUps, Duration each, boolean answersAtOnce) {
    return hear(wakeUps, each, false, answersAtOnce, Worth.IF_WRITERS_WAIT);
  }

  private int hear(
      int wakeUps, Duration each, boolean isFirst, boolean answersAtOnce, Worth enough) {
    for (var heard = 1; heard <= wakeUps; heard++) {
      now += each.toNanos();
      if (rush.heard(now, isFirst, answersAtOnce).compareTo(enough) >= 0) {
        return heard;
      }
    }
    return 0;
  }

  @Test
  void forTheFirstItIsAfter25Within100Ms() {
    assertThat(hear(1_000, Duration.ofMillis(1), true)).isEqualTo(25);
  }

  @Test
  void atAHundredASecondItIsNot() {
    assertThat(hear(10_000, Duration.ofMillis(10), true)).isZero();
  }

  /** So many may be all that come on a slow disk. */
  @Test
  void whoAnswersAtOnceAsksAfter3Within100Ms() {
    assertThat(asks(100, Duration.ofMillis(30), true)).isEqualTo(3);
    assertThat(asks(100, Duration.ofMillis(110), true)).isZero();
  }

  @Test
  void othersDoNotAsk() {
    assertThat(asks(10_000, Duration.ofMillis(10), false)).isZero();
  }

  @Test
  void whatIsSeenToDoesNotCount() {
    assertThat(hear(24, Duration.ofMillis(1), true)).isZero();
    rush.isSeenTo();
    assertThat(hear(24, Duration.ofMillis(1), true)).isZero();
  }

  @Test
  void forOthersItIsWhereItLastsForSomeSeconds() {
    assertThat(hear(10_000, Duration.ofMillis(1), false)).isBetween(1_000, 3_300);
  }

  /** A process that gets no processor for a while hears what came meanwhile all at once. */
  @Test
  void forOthersItIsNotWhereMuchIsHeardAtOnceNowAndThen() {
    for (var burst = 0; burst < 100; burst++) {
      assertThat(hear(50, Duration.ofMillis(1), false)).isZero();
      now += Duration.ofMillis(250).toNanos();
    }
  }

  @Test
  void forOthersItIsNotWhereItEndsInBetween() {
    for (var second = 0; second < 20; second++) {
      assertThat(hear(800, Duration.ofMillis(1), false)).isZero();
      assertThat(hear(20, Duration.ofMillis(10), false)).isZero();
    }
  }
}
