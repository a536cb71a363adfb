package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Repeats a step that may wait for the database, on workers, never two at once. One step at most is
 * planned: the earliest that was asked for. If its time comes while a step is under way, it begins
 * when that one has ended. Thread-safe.
 */
public final class RepeatedTask {

  private static final Duration AFTER_ERROR = Duration.ofSeconds(1);

  // What has not begun so long after its time counts as lost, as to an OutOfMemoryError of the
  // timer. It may wait for a thread all the same: so twice as long each time until one begins.
  private static final long LOST_AFTER_NANOS = Duration.ofSeconds(1).toNanos();

  private final Threads threads;
  private final Supplier<@Nullable Duration> step;
  // Guarded by this, which is never held while a step runs.
  private boolean underWay;
  private boolean again;
  private boolean stopped;
  private long plannedAt; // by System.nanoTime()
  private long lostAfterNanos = LOST_AFTER_NANOS;
  private @Nullable Future<?> planned;

  /**
   * @param step returns within which time the next step is to begin; null: when it is asked for.
   *     After one that throws the next comes in a second
   */
  public RepeatedTask(Threads threads, Supplier<@Nullable Duration> step) {
    this.threads = threads;
    this.step = step;
  }

  /** Sees to it that a step begins within that time. Returns at once. */
  public synchronized void within(Duration delay) {
    var now = System.nanoTime();
    var isLost = planned != null && now - plannedAt > lostAfterNanos;
    var soon = isLost ? Duration.ZERO : delay; // the lost one was due by now
    var at = now + soon.toNanos();
    if (stopped || (planned != null && !isLost && plannedAt - at <= 0)) {
      return;
    }
    if (isLost) {
      lostAfterNanos *= 2;
    }
    if (planned != null) {
      planned.cancel(false);
      planned = null; // the next line may throw an Error
    }
    planned = threads.runLater(soon, this::run);
    plannedAt = at;
  }

  /** No step begins from now on. Returns at once. */
  public synchronized void stop() {
    stopped = true;
    if (planned != null) {
      planned.cancel(false);
    }
  }

  /**
   * Waits for the step under way.
   *
   * @param end by System.nanoTime()
   */
  public synchronized void awaitEnd(long end) throws InterruptedException {
    while (underWay && end - System.nanoTime() > 0) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
  }

  private void run() {
    if (!begins()) {
      return;
    }
    @Nullable Duration next = AFTER_ERROR;
    try {
      next = step.get();
    } finally {
      end(next);
    }
  }

  private synchronized boolean begins() {
    planned = null;
    lostAfterNanos = LOST_AFTER_NANOS;
    again = underWay;
    if (underWay || stopped) {
      return false;
    }
    underWay = true;
    return true;
  }

  private synchronized void end(@Nullable Duration next) {
    underWay = false;
    notifyAll();
    if (again) {
      within(Duration.ZERO);
    } else if (next != null) {
      within(next);
    }
  }
}
