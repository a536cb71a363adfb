package org.pgonce.internal.deliver;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.Threads;

/**
 * The bound on what one thread does. It ends in exactly one way: the thread was in time, or it was
 * cut off. Who cuts off interrupts the thread while the lock is held, so that no interrupt reaches
 * a thread that was in time and has gone on to something else.
 */
public final class Deadline {

  private final ReentrantLock lock = new ReentrantLock();
  private final Thread thread = Thread.currentThread();
  private Threads.@Nullable Alarm alarm;
  private boolean inTime;
  private boolean cutOff;

  private Deadline() {}

  /** How long, and whose timer. */
  public record Bound(Duration timeout, Threads threads) {

    /** Begins for the current thread; {@code whenCutOff} runs on a worker if the time runs out. */
    public Deadline begin(Runnable whenCutOff) {
      var deadline = new Deadline();
      deadline.alarmAfter(this, whenCutOff);
      return deadline;
    }
  }

  private void alarmAfter(Bound bound, Runnable whenCutOff) {
    lock.lock();
    try {
      alarm =
          bound.threads.alarmAfter(
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
      if (alarm != null) {
        alarm.cancel();
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
