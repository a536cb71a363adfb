package org.pgonce.spring.internal;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.Backoff;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tries to start until it works or is cancelled, on a thread of its own. */
final class RetriedStart {

  private static final Logger LOG = LoggerFactory.getLogger(RetriedStart.class);
  private static final Backoff BETWEEN_STARTS =
      new Backoff(Duration.ofSeconds(1), Duration.ofSeconds(30));
  private static final Duration LONGEST_END = Duration.ofMillis(500);

  /** What a start consists of. */
  interface Steps {

    void install();

    void listen();

    /** Hears why a try failed, or null when one has worked. */
    void ended(@Nullable String failure);

    /** Undoes a start that was cancelled while it went on. */
    void stop() throws InterruptedException;
  }

  private final Steps steps;
  private final @Nullable RetriedStart before;
  private final CountDownLatch cancelled = new CountDownLatch(1);
  private final Thread thread = new Thread(this::run, "pgonce-start");

  /**
   * @param before is waited for: two at once would be in each other's way
   */
  RetriedStart(Steps steps, @Nullable RetriedStart before) {
    this.steps = steps;
    this.before = before == null || !before.thread.isAlive() ? null : before;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  private void run() {
    try {
      if (before != null) {
        before.thread.join();
      }
      for (var tries = 1; !isCancelled(); tries++) {
        var failure = failureOfOneTry();
        if (isCancelled()) {
          steps.stop();
        } else if (failure == null) {
          steps.ended(null);
          return;
        } else {
          pause(failure, BETWEEN_STARTS.after(tries));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // cancelled
    }
  }

  private @Nullable Throwable failureOfOneTry() {
    try {
      steps.install();
      if (!isCancelled()) {
        steps.listen();
      }
      return null;
    } catch (RuntimeException | Error e) { // a class that is missing may be there next time
      return e;
    }
  }

  private void pause(Throwable failure, Duration pause) throws InterruptedException {
    steps.ended(String.valueOf(failure.getMessage()));
    LOG.warn(
        "pgonce: could not start, and tries again in {} ms: {}",
        pause.toMillis(),
        failure.getMessage(),
        failure instanceof Error ? failure : null);
    cancelled.await(pause.toMillis(), TimeUnit.MILLISECONDS);
  }

  private boolean isCancelled() {
    return cancelled.getCount() == 0;
  }

  /** Does not wait: a try that goes on is undone when it ends. */
  void cancel() {
    cancelled.countDown();
    thread.interrupt();
  }

  /** Waits for half a second at most: a statement of an installation may take longer. */
  void awaitEnd() throws InterruptedException {
    thread.join(LONGEST_END.toMillis());
  }
}
