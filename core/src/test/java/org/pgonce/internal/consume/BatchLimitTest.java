package org.pgonce.internal.consume;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class BatchLimitTest {

  private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 1_000); // about to overflow
  private final BatchLimit limit = new BatchLimit(20, now::get);

  private void pass(Duration time) {
    now.addAndGet(time.toNanos());
  }

  @Test
  void h43_eachConflictHalvesItDownToOne() {
    assertThat(limit.now()).isEqualTo(20);
    for (var next : new int[] {10, 5, 2, 1, 1}) {
      limit.conflicted(limit.now(), Duration.ofSeconds(1));
      assertThat(limit.now()).isEqualTo(next);
    }
  }

  @Test
  void h43_aBatchThatWasSmallerByItselfCountsWithItsOwnSize() {
    limit.conflicted(6, Duration.ofSeconds(1));
    assertThat(limit.now()).isEqualTo(3);
  }

  @Test
  void h43_itGrowsAgainSoThatATwentiethOfTheTimeIsLost() {
    limit.conflicted(20, Duration.ofSeconds(1));
    limit.conflicted(10, Duration.ofSeconds(1));
    pass(Duration.ofSeconds(BatchLimit.SHARE).minusNanos(1));
    limit.passed(5);
    assertThat(limit.now()).isEqualTo(5);
    pass(Duration.ofNanos(1));
    limit.passed(4); // less than what is allowed: it says nothing
    assertThat(limit.now()).isEqualTo(5);
    limit.passed(5);
    assertThat(limit.now()).isEqualTo(10);
    limit.passed(10);
    assertThat(limit.now()).isEqualTo(10);
    pass(Duration.ofSeconds(BatchLimit.SHARE));
    limit.passed(10);
    assertThat(limit.now()).isEqualTo(20);
    pass(Duration.ofSeconds(BatchLimit.SHARE));
    limit.passed(20);
    assertThat(limit.now()).isEqualTo(20);
  }

  @Test
  void h43_aBatchThatWaitedLongIsNotWaitedOutForHours() {
    limit.conflicted(20, Duration.ofHours(1));
    pass(Duration.ofSeconds(200));
    limit.passed(10);
    assertThat(limit.now()).isEqualTo(20);
  }

  @Test
  void h54_whereBatchesAreForbiddenTheyStaySo() {
    limit.forbid();
    pass(Duration.ofHours(1));
    limit.passed(1);
    limit.conflicted(1, Duration.ZERO);
    assertThat(limit.now()).isEqualTo(1);
  }
}
