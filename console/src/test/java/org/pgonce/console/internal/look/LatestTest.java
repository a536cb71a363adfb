package org.pgonce.console.internal.look;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** One looks, and nobody waits for it. */
class LatestTest {

  private static final long NEVER_OLD = Duration.ofDays(1).toNanos();

  @Test
  void aFreshLookIsNotRepeatedAndAnOldOneIs() {
    var fresh = new Latest<String>(NEVER_OLD, NEVER_OLD);
    assertThat(fresh.of(() -> "first")).isEqualTo("first");
    assertThat(fresh.of(() -> "second")).isEqualTo("first");
    var old = new Latest<String>(-1, NEVER_OLD);
    assertThat(old.of(() -> "first")).isEqualTo("first");
    assertThat(old.of(() -> "second")).isEqualTo("second");
  }

  @Test
  void aSlowLookHoldsNobodyUp() throws Exception {
    var latest = new Latest<String>(-1, NEVER_OLD);
    latest.of(() -> "older");
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var slow = CompletableFuture.supplyAsync(() -> latest.of(() -> slowly(begun, end)));
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(latest.of(() -> "unasked")).isEqualTo("older");
    end.countDown();
    assertThat(slow.get(30, TimeUnit.SECONDS)).isEqualTo("slow");
  }

  /** A page does not show what stood there an hour ago because another loads it as well. */
  @Test
  void whatIsTooOldIsNotGivenWhileAnotherLooks() throws Exception {
    var latest = new Latest<String>(-1, -1);
    latest.of(() -> "of an hour ago");
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var slow = CompletableFuture.supplyAsync(() -> latest.of(() -> slowly(begun, end)));
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(latest.of(() -> "now")).isEqualTo("now");
    end.countDown();
    slow.get(30, TimeUnit.SECONDS);
  }

  /** The first one that ends does not make the next one look, while the second one still does. */
  @Test
  void thoseBehindTwoSlowLooksAreGivenTheFirstToEnd() throws Exception {
    var latest = new Latest<String>(-1, NEVER_OLD);
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var slow = CompletableFuture.supplyAsync(() -> latest.of(() -> slowly(begun, end)));
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(latest.of(() -> "first to end")).isEqualTo("first to end");
    assertThat(latest.of(() -> "unasked")).isEqualTo("first to end");
    end.countDown();
    slow.get(30, TimeUnit.SECONDS);
  }

  @Test
  void afterAChangeEachLooksForItself() throws Exception {
    var latest = new Latest<String>(NEVER_OLD, NEVER_OLD);
    latest.of(() -> "before");
    latest.expire();
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var slow = CompletableFuture.supplyAsync(() -> latest.of(() -> slowly(begun, end)));
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(latest.of(() -> "after")).isEqualTo("after");
    latest.expire(); // what the slow one sees is from before this
    end.countDown();
    slow.get(30, TimeUnit.SECONDS);
    assertThat(latest.of(() -> "anew")).isEqualTo("anew");
  }

  @Test
  void aLookThatFailsIsTriedAgain() {
    var latest = new Latest<String>(NEVER_OLD, NEVER_OLD);
    assertThatThrownBy(
            () ->
                latest.of(
                    () -> {
                      throw new IllegalStateException("the database is down");
                    }))
        .hasMessage("the database is down");
    assertThat(latest.of(() -> "up")).isEqualTo("up");
  }

  private static String slowly(CountDownLatch begun, CountDownLatch end) {
    begun.countDown();
    try {
      assertThat(end.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return "slow";
  }
}
