package org.pgonce.internal.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Steps one after the other, by a timer whose time the test makes. */
class RepeatedTaskTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);

  private record Planned(Duration delay, FutureTask<?> work) {

    boolean isOpen() {
      return !work.isDone();
    }
  }

  private final List<Planned> planned = new ArrayList<>();
  private final List<String> log = new ArrayList<>();
  private @Nullable Duration returned;
  private @Nullable Duration next;
  private Runnable meanwhile = () -> {};

  private final RepeatedTask steps =
      new RepeatedTask(this::runLater, new ReentrantLock(), this::step, this::after);

  private FutureTask<?> runLater(Duration delay, Runnable work) {
    var task = new FutureTask<>(work, null);
    planned.add(new Planned(delay, task));
    return task;
  }

  private @Nullable Duration step() {
    log.add("begins");
    meanwhile.run();
    return returned;
  }

  private @Nullable Duration after(@Nullable Duration what, boolean again) {
    log.add("returned " + what + (again ? ", again" : ""));
    return next;
  }

  private List<Duration> delays() {
    return planned.stream().filter(Planned::isOpen).map(Planned::delay).toList();
  }

  /** The time of what is planned has come. */
  private void comes() throws Exception {
    var first = planned.stream().filter(Planned::isOpen).findFirst().orElseThrow();
    first.work().run();
    first.work().get();
  }

  @Test
  void h45_theEarliestThatWasAskedForIsTheNext() {
    steps.within(MINUTE);
    steps.within(HOUR);
    assertThat(delays()).containsExactly(MINUTE);

    steps.within(SECOND);
    assertThat(delays()).containsExactly(SECOND);
  }

  @Test
  void h45_theOwnerSaysWhenTheNextBegins() throws Exception {
    returned = MINUTE;
    next = HOUR;
    steps.within(SECOND);
    comes();
    assertThat(log).containsExactly("begins", "returned PT1M");
    assertThat(delays()).containsExactly(HOUR);

    next = null;
    comes();
    assertThat(delays()).isEmpty();
  }

  @Test
  void h45_whatIsAskedForMeanwhileIsEarlierThanWhatTheOwnerSays() throws Exception {
    meanwhile = () -> steps.within(MINUTE);
    next = HOUR;
    steps.within(SECOND);
    comes();
    assertThat(delays()).containsExactly(MINUTE);
  }

  @Test
  void h45_noStepBeginsWhileOneIsUnderWayAndTheOwnerIsToldOnce() throws Exception {
    meanwhile =
        () -> {
          steps.within(SECOND);
          planned.get(1).work().run();
        };
    next = MINUTE;
    steps.within(SECOND);
    comes();
    assertThat(log).containsExactly("begins", "returned null, again");
    assertThat(delays()).containsExactly(MINUTE);

    meanwhile = () -> {};
    comes();
    assertThat(log).endsWith("begins", "returned null");
  }

  @Test
  void h45_afterAStepThatThrowsItGoesOn() {
    meanwhile =
        () -> {
          throw new IllegalStateException("unexpected");
        };
    returned = HOUR;
    next = SECOND;
    steps.within(SECOND);
    assertThatThrownBy(this::comes).hasRootCauseMessage("unexpected");
    assertThat(log).containsExactly("begins", "returned null");
    assertThat(delays()).containsExactly(SECOND);
  }

  @Test
  void h45_noneBeginsOnceItIsStopped() {
    steps.within(SECOND);
    steps.stop();
    assertThat(delays()).isEmpty();

    steps.within(SECOND);
    assertThat(delays()).isEmpty();
  }

  @Test
  void h45_oneThatHasItsThreadWhenItIsStoppedDoesNotBegin() {
    var begins = new ArrayList<Runnable>();
    var late =
        new RepeatedTask(
            (delay, work) -> {
              begins.add(work);
              return new FutureTask<>(work, null);
            },
            new ReentrantLock(),
            this::step,
            this::after);
    late.within(SECOND);
    late.stop();
    begins.forEach(Runnable::run);
    assertThat(log).isEmpty();
  }

  @Test
  void h45_theStepUnderWayIsWaitedForButNotForEver() throws Exception {
    try (var threads = new Threads()) {
      var begun = new CountDownLatch(1);
      var goOn = new CountDownLatch(1);
      meanwhile =
          () -> {
            begun.countDown();
            awaitUnchecked(goOn);
          };
      var real = new RepeatedTask(threads::runLater, new ReentrantLock(), this::step, this::after);
      real.within(Duration.ZERO);
      assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
      real.stop();
      real.awaitEnd(System.nanoTime() + Duration.ofMillis(1).toNanos());
      assertThat(log).containsExactly("begins");

      var ended =
          CompletableFuture.runAsync(
              () -> {
                try {
                  real.awaitEnd(System.nanoTime() + HOUR.toNanos());
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              });
      goOn.countDown();
      ended.get(20, TimeUnit.SECONDS);
      assertThat(log).containsExactly("begins", "returned null");
    }
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
    var closed =
        new RepeatedTask(
            (delay, work) -> {
              throw new RejectedExecutionException();
            },
            new ReentrantLock(),
            this::step,
            this::after);
    closed.within(SECOND);
    assertThat(log).isEmpty();
  }
}
