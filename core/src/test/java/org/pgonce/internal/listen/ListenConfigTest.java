package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.listen.ListenFailure.Kind;

/** The bounds of listening. */
class ListenConfigTest {

  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void everyBoundIsChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ListenConfig(Duration.ZERO, SECOND, SECOND))
        .withMessage("connectTimeout is 0 ms; choose from 100 to 60000 ms");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ListenConfig(SECOND, Duration.ofHours(1), SECOND))
        .withMessageContaining("heartbeat");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ListenConfig(SECOND, SECOND, Duration.ofMillis(-1)))
        .withMessageContaining("echoTimeout");
  }

  @Test
  void h64_theLongestBackoffDependsOnWhatFailed() {
    assertThat(Kind.FAILED.backoff().longest()).isEqualTo(Duration.ofSeconds(10));
    assertThat(Kind.UNREACHABLE.backoff().longest()).isEqualTo(SECOND);
    assertThat(Kind.POOLER.backoff().longest()).isEqualTo(Duration.ofHours(1));
  }
}
