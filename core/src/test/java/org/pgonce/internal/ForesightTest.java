package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

/** How wake-ups for what is due later become scans. */
class ForesightTest {

  @Test
  void s05_oneAfterAnotherLooksOnceAtOnceAndOnceAfterThePause() {
    var delays = new ArrayList<Duration>();
    var foresight = new Foresight(delays::add);
    var begun = System.nanoTime();
    var different = 0L;
    var sameUntil = Long.MIN_VALUE;
    for (var i = 0; i < 1_000; i++) {
      var before = System.nanoTime() - begun;
      foresight.look();
      var delay = delays.get(i).toNanos();
      // When it looks is not told, but from when: between these two calls of the clock, however far
      // apart they are. As long as there is a time that can be meant by all, it is the same look.
      if (before + delay > sameUntil) {
        different++;
        sameUntil = Long.MAX_VALUE;
      }
      sameUntil = Math.min(sameUntil, System.nanoTime() - begun + delay);
    }
    var pauses = 1 + Duration.ofNanos(System.nanoTime() - begun).toMillis() / 50;
    assertThat(delays.get(0)).isZero();
    assertThat(different).isBetween(2L, 1 + pauses);
  }
}
