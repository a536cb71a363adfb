package org.pgonce.internal.concurrent;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Steps one after the other, each when it is asked for or due. */
class RepeatedTaskTest {

  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Duration MOMENT = Duration.ofMillis(30);
  private static final Duration HOUR = Duration.ofHours(1);

  private final Threads threads = new Threads();
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger underWay = new AtomicInteger();
  private final AtomicInteger together = new AtomicInteger();
  private final AtomicReference<@Nullable Duration> next = new AtomicReference<>();
  private volatile Runnable meanwhile = () -> {};

  private final RepeatedTask steps = new RepeatedTask(threads, this::step);

  @AfterEach
  void close() {
    threads.close();
  }

  private @Nullable Duration step() {
    begun.incrementAndGet();
    together.accumulateAndGet(underWay.incrementAndGet(), Math::max);
    try {
      meanwhile.run();
      return next.getAndSet(null);
    } finally {
      underWay.decrementAndGet();
    }
  }

  private void awaitBegun(int count) {
    Awaitility.await().atMost(SOON).until(() -> begun.get() == count && underWay.get() == 0);
  }

  /** No further one begins within a moment. */
  private void assertNoMore(int count) {
    Awaitility.await()
        .during(MOMENT.multipliedBy(4))
        .atMost(SOON)
        .until(() -> begun.get() == count);
  }

  @Test
  void h45_theEarliestThatWasAskedForIsTheNext() {
    steps.within(HOUR);
    steps.within(MOMENT);
    steps.within(HOUR);
    awaitBegun(1);
    assertNoMore(1);
  }

  @Test
  void h45_theStepSaysWhenTheNextBegins() {
    next.set(MOMENT);
    steps.within(Duration.ZERO);
    awaitBegun(2);
    assertNoMore(2);
  }

  @Test
  void h45_whatIsAskedForMeanwhileIsEarlierThanWhatTheStepSays() {
    next.set(HOUR);
    meanwhile = () -> steps.within(MOMENT);
    steps.within(Duration.ZERO);
    Awaitility.await().atMost(SOON).until(() -> begun.get() >= 2);
  }

  @Test
  void h45_noStepBeginsWhileOneIsUnderWayAndOneFollowsIt() {
    var goOn = new CountDownLatch(1);
    meanwhile = () -> awaitUnchecked(goOn);
    steps.within(Duration.ZERO);
    Awaitility.await().atMost(SOON).until(() -> underWay.get() == 1);
    for (var request = 0; request < 10; request++) {
      steps.within(Duration.ZERO);
      Awaitility.await().pollDelay(Duration.ofMillis(5)).until(() -> true);
    }
    goOn.countDown();
    awaitBegun(2);
    assertNoMore(2);
    assertThat(together).hasValue(1);
  }

  @Test
  void h45_afterAStepThatThrowsItGoesOn() {
    meanwhile =
        () -> {
          throw new IllegalStateException("unexpected, for a test");
        };
    steps.within(Duration.ZERO);
    Awaitility.await().atMost(SOON).until(() -> begun.get() >= 2);
  }

  /**
   * Memory ran out on the timer's thread, for one. Whoever asks for a later one has the lost one
   * begin at once: it may be a renewal that is due.
   */
  @Test
  void h45_aStepThatIsLostToAnErrorBeginsWhenALaterOneIsAskedFor() {
    try (var losing =
        new Threads(
            new StarvedExecutor(
                request -> request == 1, () -> new InternalError("so says the test")))) {
      var lost = new RepeatedTask(losing, this::step);
      lost.within(Duration.ZERO);
      Awaitility.await()
          .atMost(SOON)
          .until(
              () -> {
                lost.within(HOUR);
                return begun.get() > 0;
              });
    }
  }

  @Test
  void h45_noneBeginsOnceItIsStopped() {
    steps.within(MOMENT);
    steps.stop();
    steps.within(Duration.ZERO);
    assertNoMore(0);
  }

  @Test
  void h45_theStepUnderWayIsWaitedForButNotForEver() throws Exception {
    var goOn = new CountDownLatch(1);
    meanwhile = () -> awaitUnchecked(goOn);
    steps.within(Duration.ZERO);
    Awaitility.await().atMost(SOON).until(() -> underWay.get() == 1);
    steps.stop();
    steps.awaitEnd(System.nanoTime() + MOMENT.toNanos());
    assertThat(underWay).hasValue(1);

    goOn.countDown();
    steps.awaitEnd(System.nanoTime() + SOON.toNanos());
    assertThat(underWay).hasValue(0);
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void h45_nothingIsPlannedWhereTheThreadsAreClosed() {
    threads.close();
    steps.within(Duration.ZERO);
    assertNoMore(0);
  }
}
