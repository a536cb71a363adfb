package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.pgonce.testkit.WallClock;

/** Time is the database's: a trigger channel asks no other clock. */
class ClockTest {

  @Test
  void h80_noClassReadsTheWallClock() throws Exception {
    assertThat(WallClock.readByModuleOf(TriggerChannel.class)).isEmpty();
  }
}
