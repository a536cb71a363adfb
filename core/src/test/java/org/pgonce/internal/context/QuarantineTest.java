package org.pgonce.internal.context;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class QuarantineTest {

  private static final Duration LONG = Duration.ofHours(1);

  private final Quarantine quarantine = new Quarantine();

  @Test
  void h47_oneAtATimeIsInIt() {
    var first = quarantine.enter(LONG);
    assertThat(first).isNotNull();
    assertThat(quarantine.enter(LONG)).isNull();
    quarantine.leave(Objects.requireNonNull(first));
    assertThat(quarantine.enter(LONG)).isNotNull();
  }

  @Test
  void h45_oneThatNeverReturnsKeepsTheOthersOutForItsTimeOnly() {
    var stuck = Objects.requireNonNull(quarantine.enter(Duration.ofSeconds(2)));
    assertThat(quarantine.enter(LONG)).isNull();
    await().atMost(Duration.ofSeconds(20)).until(() -> quarantine.enter(LONG) != null);
    quarantine.leave(stuck); // too late: it is another's
    assertThat(quarantine.enter(LONG)).isNull();
  }
}
