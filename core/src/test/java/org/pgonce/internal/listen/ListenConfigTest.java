package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.postgresql.ds.PGSimpleDataSource;

/** The bounds of listening. */
class ListenConfigTest {

  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void everyBoundIsChecked() {
    var builder = PgOnce.builder(new PGSimpleDataSource());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.heartbeat(Duration.ofHours(1), SECOND))
        .withMessage("heartbeat interval PT1H is not between 50 ms and 10 minutes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> builder.heartbeat(SECOND, Duration.ofMillis(-1)))
        .withMessage("echoDeadline PT-0.001S is not between 50 ms and 1 minute");
    builder.heartbeat(Duration.ofMillis(50), Duration.ofMinutes(1));
  }

  @Test
  void h64_theLongestBackoffDependsOnWhatFailed() {
    assertThat(Kind.FAILED.backoff().longest()).isEqualTo(Duration.ofSeconds(10));
    assertThat(Kind.UNREACHABLE.backoff().longest()).isEqualTo(SECOND);
    assertThat(Kind.POOLER.backoff().longest()).isEqualTo(Duration.ofHours(1));
  }
}
