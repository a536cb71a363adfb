package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Repeats a step that may wait for the database, on workers, never two at once. One step at most is
 * planned: the earliest that was asked for. If its time comes while a step is under way, it begins
 * when that one has ended. Thread-safe.
 */
public final class RepeatedTask {

  private static final Duration AFTER_ERROR = Duration.ofSeconds(1);

  private final Threads threads;
  private final Supplier<@Nullable Duration> step;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();
  private boolean underWay;
  private boolean again;
  private boolean stopped;
  // By System.nanoTime().
  private long plannedAt;
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
  public void within(Duration delay) {
    lock.lock();
    try {
      var at = System.nanoTime() + delay.toNanos();
      if (stopped || (planned != null && plannedAt - at <= 0)) {
        return;
      }
      if (planned != null) {
        planned.cancel(false);
      }
      plannedAt = at;
      planned = threads.runLater(delay, this::begin);
    } finally {
      lock.unlock();
    }
  }

  /** No step begins from now on. Returns at once. */
  public void stop() {
    lock.lock();
    try {
      stopped = true;
      if (planned != null) {
        planned.cancel(false);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for the step under way.
   *
   * @param end by System.nanoTime()
   */
  public void awaitEnd(long end) throws InterruptedException {
    lock.lock();
    try {
      for (var left = end - System.nanoTime(); underWay && left > 0; ) {
        left = ended.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  private void begin() {
    lock.lock();
    try {
      planned = null;
      again = underWay;
      if (underWay || stopped) {
        return;
      }
      underWay = true;
    } finally {
      lock.unlock();
    }
    @Nullable Duration next = AFTER_ERROR;
    try {
      next = step.get();
    } finally {
      end(next);
    }
  }

  private void end(@Nullable Duration next) {
    lock.lock();
    try {
      underWay = false;
      ended.signalAll();
      if (again) {
        within(Duration.ZERO);
      } else if (next != null) {
        within(next);
      }
    } finally {
      lock.unlock();
    }
  }
}
