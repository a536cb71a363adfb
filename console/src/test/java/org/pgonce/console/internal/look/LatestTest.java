package org.pgonce.console.internal.look;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.pgonce.operations.internal.sql.RefusedException;

/** One looks, and nobody waits long for it. */
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
    assertThatThrownBy(() -> latest.of(() -> "a second look"))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("The database is slow");
    var waits = waiting(latest);
    end.countDown();
    for (var one : List.of(slow, waits)) {
      assertThat(one.get(30, TimeUnit.SECONDS)).isEqualTo("slow");
    }
  }

  /** Each would wait as long for the same failure, with a connection. */
  @Test
  void whoWaitsForALookThatFailsIsToldWhy() throws Exception {
    var latest = new Latest<String>(NEVER_OLD, NEVER_OLD);
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var slow =
        CompletableFuture.supplyAsync(
            () ->
                latest.of(
                    () -> {
                      throw new IllegalStateException("the database is " + slowly(begun, end));
                    }));
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    var waits = waiting(latest);
    end.countDown();
    for (var one : List.of(slow, waits)) {
      assertThatThrownBy(() -> one.get(30, TimeUnit.SECONDS))
          .hasRootCauseMessage("the database is slow");
    }
  }

  @Test
  void afterAChangeTheLookFromBeforeItDoesNotCount() throws Exception {
    var latest = new Latest<String>(NEVER_OLD, NEVER_OLD);
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var slow = CompletableFuture.supplyAsync(() -> latest.of(() -> slowly(begun, end)));
    assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
    latest.expire();
    assertThat(latest.of(() -> "after")).isEqualTo("after");
    end.countDown();
    slow.get(30, TimeUnit.SECONDS);
    assertThat(latest.of(() -> "unasked")).isEqualTo("after");
    latest.expire();
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

  /** Asks, and waits for another's look. */
  private static CompletableFuture<String> waiting(Latest<String> latest) {
    var waiter = new AtomicReference<Thread>();
    var asked =
        CompletableFuture.supplyAsync(
            () -> {
              waiter.set(Thread.currentThread());
              return latest.of(() -> "a second look");
            });
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> waiter.get() != null && waiter.get().getState() == Thread.State.TIMED_WAITING);
    return asked;
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
