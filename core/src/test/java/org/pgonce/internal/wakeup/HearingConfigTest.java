package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.wakeup.Deafness.Kind;

/** The bounds of hearing, and what grows within them. */
class HearingConfigTest {

  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void everyBoundIsChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new HearingConfig(Duration.ZERO, SECOND, SECOND, SECOND, SECOND))
        .withMessage("connectTimeout is 0 ms; choose from 100 to 60000 ms");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new HearingConfig(SECOND, Duration.ofHours(1), SECOND, SECOND, SECOND))
        .withMessageContaining("heartbeat");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new HearingConfig(SECOND, SECOND, Duration.ofMillis(-1), SECOND, SECOND))
        .withMessageContaining("echoDeadline");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new HearingConfig(SECOND, SECOND, SECOND, SECOND, SECOND.dividedBy(2)))
        .withMessageContaining("backoffMax");
  }

  @Test
  void backoffDoublesUpToItsMaximumAndBeginsAnewAfterAReset() {
    var backoff = new ConnectBackoff(HearingConfig.DEFAULTS);

    assertThat(backoff.ceiling(Kind.FULL)).isEqualTo(Duration.ofMillis(100));
    assertThat(backoff.ceiling(Kind.FULL)).isEqualTo(Duration.ofMillis(200));
    for (int i = 0; i < 100; i++) {
      assertThat(backoff.ceiling(Kind.FULL)).isLessThanOrEqualTo(Duration.ofSeconds(10));
    }
    assertThat(backoff.ceiling(Kind.FULL)).isEqualTo(Duration.ofSeconds(10));
    backoff.reset();
    assertThat(backoff.ceiling(Kind.FULL)).isEqualTo(Duration.ofMillis(100));
  }

  @Test
  void whoeverDoesNotAnswerIsAskedAtLeastOnceASecond() {
    var backoff = new ConnectBackoff(HearingConfig.DEFAULTS);
    for (int i = 0; i < 100; i++) {
      assertThat(backoff.next(Kind.UNREACHABLE)).isPositive().isLessThanOrEqualTo(SECOND);
    }
  }

  @Test
  void aPoolerIsTriedMoreAndMoreSlowly() {
    var backoff = new ConnectBackoff(HearingConfig.DEFAULTS);
    for (int i = 0; i < 100; i++) {
      assertThat(backoff.ceiling(Kind.POOLER)).isLessThanOrEqualTo(Duration.ofMinutes(1));
    }
    assertThat(backoff.ceiling(Kind.POOLER)).isEqualTo(Duration.ofMinutes(1));
  }
}
