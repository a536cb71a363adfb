package org.pgonce.internal.handle;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;
import org.pgonce.internal.concurrent.Threads;

/**
 * Ends a handler that overruns its time: interrupts its thread, and then has its {@link
 * WorkerSlots.CutOff} close its connection. Either the handler is in time, or it is cut off. The
 * interrupt happens with the lock held, so it never reaches a thread that was in time and does
 * something else by now.
 */
final class HandlerTimeout {

  private final ReentrantLock lock = new ReentrantLock();
  private final Thread thread = Thread.currentThread();
  private final Future<?> timer;
  private boolean inTime;
  private boolean cutOff;

  /**
   * Begins for the current thread.
   *
   * @param whenCutOff runs on a worker if the time runs out
   */
  HandlerTimeout(Threads threads, Duration timeout, Runnable whenCutOff) {
    this.timer =
        threads.runLater(
            timeout,
            () -> {
              if (cutOff()) {
                whenCutOff.run();
              }
            });
  }

  /**
   * The thread is done. False if it was cut off before; the cut's interrupt does not outlive this
   * call. Idempotent.
   */
  boolean end() {
    lock.lock();
    try {
      inTime = !cutOff;
      timer.cancel(false);
      // An interrupt that a handler left behind is cleared, too.
      Thread.interrupted();
      return inTime;
    } finally {
      lock.unlock();
    }
  }

  /** Cuts the thread off unless it was in time; true if this call did. */
  boolean cutOff() {
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

  boolean isCutOff() {
    lock.lock();
    try {
      return cutOff;
    } finally {
      lock.unlock();
    }
  }
}
