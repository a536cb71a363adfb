package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;

/**
 * While this process is awake, it looks for new rows at short intervals. Guarded by the lock of
 * {@link Wakefulness}.
 */
final class Ticks {

  // A row waits no longer than that for somebody to look for it.
  private static final Duration BETWEEN = Duration.ofMillis(2);

  private final Threads threads;
  private final Lock lock;
  private final BooleanSupplier isAwake;
  private final Runnable look;
  private boolean on;

  /**
   * @param isAwake called with the lock held
   * @param look called without it; must return at once
   */
  Ticks(Threads threads, Lock lock, BooleanSupplier isAwake, Runnable look) {
    this.threads = threads;
    this.lock = lock;
    this.isAwake = isAwake;
    this.look = look;
  }

  /** It is awake. Called with the lock held. */
  void begin() {
    if (!on) {
      on = true;
      threads.tickLater(BETWEEN, this::tick);
    }
  }

  private void tick() {
    lock.lock();
    try {
      on = isAwake.getAsBoolean();
      if (!on) {
        return;
      }
      threads.tickLater(BETWEEN, this::tick);
    } finally {
      lock.unlock();
    }
    look.run();
  }
}
