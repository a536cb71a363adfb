package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes steps that may wait for the database, on workers, and never two at once. There is one next
 * step at the most: the earliest that was asked for. If its time comes while another one is under
 * way, the owner is told so when that has ended. Thread-safe, by the owner's lock.
 */
public final class RepeatedTask {

  private static final Logger LOG = LoggerFactory.getLogger(RepeatedTask.class);

  /** As {@link Threads#runLater}. */
  @FunctionalInterface
  public interface Timer {
    Future<?> runLater(Duration delay, Runnable work);
  }

  /** What is done. */
  @FunctionalInterface
  public interface Step {
    /** Returns what {@link Next#after} is to know. The lock is not held. */
    @Nullable Duration take();
  }

  /** How it goes on. */
  @FunctionalInterface
  public interface Next {

    /**
     * A step has ended. Called with the lock held.
     *
     * @param returned what it has returned; null as well if it has thrown something
     * @param again whether the time of the next one has come meanwhile
     * @return within which time the next one is to begin; null: when somebody asks for it
     */
    @Nullable Duration after(@Nullable Duration returned, boolean again);
  }

  private final Timer timer;
  private final Lock lock;
  private final Condition ended;
  private final Step step;
  private final Next next;
  private boolean underWay;
  private boolean again;
  private boolean stopped;
  // By System.nanoTime().
  private long plannedAt;
  private @Nullable Future<?> planned;

  public RepeatedTask(Timer timer, Lock lock, Step step, Next next) {
    this.timer = timer;
    this.lock = lock;
    this.ended = lock.newCondition();
    this.step = step;
    this.next = next;
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
      planned = timer.runLater(delay, this::begin);
    } catch (RejectedExecutionException closed) {
      LOG.debug("pgonce: the listener has stopped");
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
    @Nullable Duration returned = null;
    try {
      returned = step.take();
    } finally {
      end(returned);
    }
  }

  private void end(@Nullable Duration returned) {
    lock.lock();
    try {
      underWay = false;
      ended.signalAll();
      var delay = next.after(returned, again);
      if (delay != null) {
        within(delay);
      }
    } finally {
      lock.unlock();
    }
  }
}
