package org.pgonce.internal.consume;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.Threads;

/**
 * The workers' threads of one subscription. One thread that has nothing left to do waits for the
 * next work, so that work which comes now and then meets the same thread, and with it the same
 * connection of the pool with its prepared statements; further ones end. Guarded by the consumer's
 * lock.
 */
final class WaitingWorker {

  private final Threads threads;
  private final Lock lock;
  private final Condition handedOver;
  private final Consumer<ClaimWorker> work;
  private boolean waits;
  private boolean stopped;
  private @Nullable ClaimWorker next;

  /**
   * @param work what a worker does; called without the lock
   */
  WaitingWorker(Threads threads, Lock lock, Consumer<ClaimWorker> work) {
    this.threads = threads;
    this.lock = lock;
    this.handedOver = lock.newCondition();
    this.work = work;
  }

  /** Runs the worker on the thread that waits, or on another one. Called with the lock held. */
  void run(ClaimWorker worker) {
    if (waits && next == null) {
      next = worker;
      handedOver.signal();
    } else {
      threads.run(() -> runAndWait(worker));
    }
  }

  private void runAndWait(ClaimWorker first) {
    for (var worker = first; worker != null; worker = await()) {
      work.accept(worker);
    }
  }

  private @Nullable ClaimWorker await() {
    lock.lock();
    try {
      if (waits || stopped) {
        return null;
      }
      waits = true;
      try {
        while (next == null && !stopped) {
          handedOver.await();
        }
        return next;
      } catch (InterruptedException closed) {
        Thread.currentThread().interrupt();
        return next; // whose claim fails at once: its slot must be left
      } finally {
        waits = false;
        next = null;
      }
    } finally {
      lock.unlock();
    }
  }

  /** The thread that waits ends. Called with the lock held. */
  void stop() {
    stopped = true;
    handedOver.signalAll();
  }
}
