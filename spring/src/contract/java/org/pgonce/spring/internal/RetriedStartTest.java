package org.pgonce.spring.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A start that is tried again, and its end. */
@Tag("second")
class RetriedStartTest {

  private static final Duration BOUND = Duration.ofSeconds(30);

  /** Fails at first with an Error, or holds on to a statement that no interrupt ends. */
  private static final class Steps implements RetriedStart.Steps {

    final List<String> done = new CopyOnWriteArrayList<>();
    final CountDownLatch mayInstall = new CountDownLatch(1);
    volatile boolean failsOnce;

    @Override
    public void install() {
      done.add("install");
      if (failsOnce) {
        failsOnce = false;
        throw new NoClassDefFoundError("of the driver");
      }
      var interrupted = false;
      while (mayInstall.getCount() > 0) {
        try {
          mayInstall.await();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      done.add("installed");
    }

    @Override
    public void listen() {
      done.add("listen");
    }

    @Override
    public void ended(@Nullable String failure) {
      done.add("ended " + failure);
    }

    @Override
    public void stop() {
      done.add("stop");
    }
  }

  private final Steps steps = new Steps();

  @Test
  void h68_errorIsSaidAndTriedAgain() {
    steps.failsOnce = true;
    steps.mayInstall.countDown();
    new RetriedStart(steps, null).start();
    await()
        .atMost(BOUND)
        .untilAsserted(
            () ->
                assertThat(steps.done)
                    .containsExactly(
                        "install",
                        "ended of the driver",
                        "install",
                        "installed",
                        "listen",
                        "ended null"));
  }

  @Test
  void cancelledStartIsWaitedForBrieflyUndoneAndNotRunTwice() throws Exception {
    var first = new RetriedStart(steps, null);
    first.start();
    await().atMost(BOUND).until(() -> steps.done.contains("install"));
    first.cancel();
    var began = System.nanoTime();
    first.awaitEnd();
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(5));
    new RetriedStart(steps, first).start();
    await()
        .during(Duration.ofMillis(300)) // nothing is there to wait for
        .atMost(BOUND)
        .untilAsserted(() -> assertThat(steps.done).containsExactly("install"));
    steps.mayInstall.countDown();
    await()
        .atMost(BOUND)
        .untilAsserted(
            () ->
                assertThat(steps.done)
                    .containsExactly(
                        "install",
                        "installed",
                        "stop",
                        "install",
                        "installed",
                        "listen",
                        "ended null"));
  }
}
