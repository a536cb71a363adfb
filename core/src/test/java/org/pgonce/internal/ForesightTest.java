package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

/** How wake-ups for what is due later become scans. */
class ForesightTest {

  @Test
  void s05_oneAfterAnotherLooksOnceAtOnceAndOnceAfterThePause() {
    var looks = new ArrayList<Long>();
    var foresight = new Foresight(delay -> looks.add(System.nanoTime() + delay.toNanos()));
    var begun = System.nanoTime();
    for (var i = 0; i < 1_000; i++) {
      foresight.look();
    }
    var pauses = 1 + Duration.ofNanos(System.nanoTime() - begun).toMillis() / 50;
    assertThat(looks.get(0) - begun).isLessThan(Duration.ofMillis(45).toNanos());
    // Those that are asked for within a pause are the same one, but for the time between two calls
    // of the clock.
    var different =
        looks.stream().map(at -> Math.round((at - looks.get(0)) / 50e6)).distinct().count();
    assertThat(different).isBetween(2L, 1 + pauses);
  }
}
