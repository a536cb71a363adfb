package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The bound on what one thread does. It ends in exactly one way: the thread was in time, or it was
 * cut off. Who cuts off interrupts the thread while the lock is held, so that no interrupt reaches
 * a thread that was in time and has gone on to something else.
 */
public final class ThreadTimeout {

  private final ReentrantLock lock = new ReentrantLock();
  private final Thread thread = Thread.currentThread();
  private @Nullable Runnable cancel;
  private boolean inTime;
  private boolean cutOff;

  private ThreadTimeout() {}

  /** Runs work after a time, on a thread that may wait. */
  @FunctionalInterface
  public interface Timer {
    /** Returns what cancels it: idempotent; without effect on what has begun. */
    Runnable after(Duration time, Runnable work);
  }

  /** How long, and whose timer. */
  public record Bound(Duration timeout, Timer timer) {

    /** Begins for the current thread; {@code whenCutOff} runs on a worker if the time runs out. */
    public ThreadTimeout begin(Runnable whenCutOff) {
      var begun = new ThreadTimeout();
      begun.start(this, whenCutOff);
      return begun;
    }
  }

  private void start(Bound bound, Runnable whenCutOff) {
    lock.lock();
    try {
      cancel =
          bound.timer.after(
              bound.timeout,
              () -> {
                if (cutOff()) {
                  whenCutOff.run();
                }
              });
    } finally {
      lock.unlock();
    }
  }

  /**
   * The thread is done. False if it was cut off before; the cut's interrupt does not outlive this
   * call. Idempotent.
   */
  public boolean end() {
    lock.lock();
    try {
      inTime = !cutOff;
      if (cancel != null) {
        cancel.run();
      }
      // Also what a handler left behind: the next wait of this thread is not its business.
      Thread.interrupted();
      return inTime;
    } finally {
      lock.unlock();
    }
  }

  /** Cuts the thread off unless it was in time; true if this call did. */
  public boolean cutOff() {
    lock.lock();
    try {
      if (inTime || cutOff) {
        return false;
      }
      cutOff = true;
      thread.interrupt();
      return true;
    } finally {
      lock.unlock();
    }
  }

  public boolean isCutOff() {
    lock.lock();
    try {
      return cutOff;
    } finally {
      lock.unlock();
    }
  }
}
