package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;

/**
 * A short piece of work at regular intervals, from a reason on until it is gone. Thread-safe, by
 * the owner's lock.
 */
final class Ticks {

  private final Threads threads;
  private final Lock lock;
  private final Duration between;
  private final BooleanSupplier goesOn;
  private final Runnable work;
  private boolean on;

  /**
   * @param goesOn called with the lock held
   * @param work called without it, where it goes on; must return at once
   */
  Ticks(Threads threads, Lock lock, Duration between, BooleanSupplier goesOn, Runnable work) {
    this.threads = threads;
    this.lock = lock;
    this.between = between;
    this.goesOn = goesOn;
    this.work = work;
  }

  /** There is a reason. Called with the lock held. */
  void begin() {
    if (!on) {
      on = true;
      threads.tickLater(between, this::tick);
    }
  }

  private void tick() {
    lock.lock();
    try {
      on = goesOn.getAsBoolean();
      if (!on) {
        return;
      }
      threads.tickLater(between, this::tick);
    } finally {
      lock.unlock();
    }
    work.run();
  }
}
