package org.pgonce.internal.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.Seed;

/**
 * What bounds each claim and each handler goes off in time, once, and not after it was cancelled.
 */
class DelayedWorkTest {

  private static final Duration SOON = Duration.ofSeconds(20);

  @Test
  void h45_workRunsAfterItsTimeAndNotBefore() throws Exception {
    try (var threads = new Threads()) {
      var begun = System.nanoTime();
      var off = new CountDownLatch(1);
      var unused1 = threads.runLater(Duration.ofMillis(60), off::countDown);
      assertThat(off.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(Duration.ofNanos(System.nanoTime() - begun))
          .isGreaterThanOrEqualTo(Duration.ofMillis(60));
    }
  }

  @Test
  void h45_workIsNotHeldUpByWorkThatIsLater() throws Exception {
    try (var threads = new Threads()) {
      var off = new CountDownLatch(1);
      var unused2 = threads.runLater(Duration.ofHours(1), () -> {});
      var unused3 = threads.runLater(Duration.ofMillis(20), off::countDown);
      assertThat(off.await(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void h45_eachWorkRunsOnceUnlessItWasCancelled() throws Exception {
    var random = Seed.random();
    var each = 500;
    var setters = 4;
    var wentOff = new AtomicIntegerArray(each * setters);
    var cancelled = new boolean[each * setters];
    var cancelledInTime = new boolean[each * setters];
    var delays = random.ints(wentOff.length(), 0, 200).toArray();
    for (var i = 0; i < cancelled.length; i++) {
      cancelled[i] = random.nextBoolean();
    }
    try (var threads = new Threads()) {
      var setting = new CountDownLatch(setters);
      for (var setter = 0; setter < setters; setter++) {
        var first = setter * each;
        threads.run(
            () -> {
              for (var i = first; i < first + each; i++) {
                var alarm = i;
                // Those that are cancelled have time for it.
                var time = Duration.ofMillis(delays[i] + (cancelled[i] ? 1_000 : 0));
                var begun = System.nanoTime();
                var set = threads.runLater(time, () -> wentOff.incrementAndGet(alarm));
                if (cancelled[i]) {
                  set.cancel(false);
                  // The machine may have let this thread wait for longer than that.
                  cancelledInTime[i] = System.nanoTime() - begun < time.toNanos();
                }
              }
              setting.countDown();
            });
      }
      assertThat(setting.await(20, TimeUnit.SECONDS)).isTrue();
      var allAreOver = new CountDownLatch(1);
      var unused4 = threads.runLater(Duration.ofMillis(1_500), allAreOver::countDown);
      assertThat(allAreOver.await(20, TimeUnit.SECONDS)).isTrue();
      await()
          .atMost(SOON)
          .untilAsserted(
              () -> {
                for (var i = 0; i < cancelled.length; i++) {
                  assertThat(wentOff.get(i))
                      .as("alarm %d", i)
                      .isBetween(cancelled[i] ? 0 : 1, cancelledInTime[i] ? 0 : 1);
                }
              });
    }
  }
}
