package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.listen.ListenFailure.Kind;

/** How long it waits between two attempts. */
class ListenBackoffTest {

  @Test
  void h64_theLongestBackoffDependsOnWhatFailed() {
    assertThat(Kind.FAILED.backoff().longest()).isEqualTo(Duration.ofSeconds(10));
    assertThat(Kind.UNREACHABLE.backoff().longest()).isEqualTo(Duration.ofSeconds(1));
    assertThat(Kind.POOLER.backoff().longest()).isEqualTo(Duration.ofHours(1));
  }
}
