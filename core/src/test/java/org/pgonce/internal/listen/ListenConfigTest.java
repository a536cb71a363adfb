package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.Backoff;
import org.pgonce.internal.listen.ListenFailure.Kind;

/** The bounds of listening. */
class ListenConfigTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Backoff BACKOFF = ListenConfig.DEFAULTS.backoff();

  @Test
  void everyBoundIsChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ListenConfig(Duration.ZERO, SECOND, SECOND, BACKOFF))
        .withMessage("connectTimeout is 0 ms; choose from 100 to 60000 ms");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ListenConfig(SECOND, Duration.ofHours(1), SECOND, BACKOFF))
        .withMessageContaining("heartbeat");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ListenConfig(SECOND, SECOND, Duration.ofMillis(-1), BACKOFF))
        .withMessageContaining("echoTimeout");
  }

  @Test
  void h64_theLongestBackoffDependsOnWhatFailed() {
    assertThat(Kind.FAILED.backoff(BACKOFF)).isEqualTo(BACKOFF);
    assertThat(Kind.UNREACHABLE.backoff(BACKOFF).longest()).isEqualTo(SECOND);
    assertThat(Kind.POOLER.backoff(BACKOFF).longest()).isEqualTo(Duration.ofMinutes(1));
  }

  @Test
  void aBackoffThatIsConfiguredBeyondTheseLimitsCounts() {
    var quick = new Backoff(Duration.ofMillis(5), Duration.ofMillis(10));
    var slow = new Backoff(Duration.ofSeconds(5), Duration.ofMinutes(5));

    assertThat(Kind.UNREACHABLE.backoff(quick)).isEqualTo(quick);
    assertThat(Kind.UNREACHABLE.backoff(slow)).isEqualTo(new Backoff(SECOND, SECOND));
    assertThat(Kind.POOLER.backoff(slow)).isEqualTo(slow);
  }
}
