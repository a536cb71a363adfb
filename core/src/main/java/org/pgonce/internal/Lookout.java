package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;

/**
 * While handlers run, somebody looks every now and then whether a row may lie behind theirs that no
 * worker has looked for since they began. A handler that ends tells so itself. It goes on for a
 * while after the last claim: to begin it costs more than to let it run. Guarded by the drain's
 * lock.
 */
final class Lookout {

  private static final Duration BETWEEN = Duration.ofMillis(20);
  private static final int IDLE = 25;

  private final Ticks ticks;
  private final BooleanSupplier look;
  private int idle;

  /**
   * @param look called with the lock held; false if there is no use in it any more
   */
  Lookout(Threads threads, Lock lock, BooleanSupplier look) {
    this.ticks = new Ticks(threads, lock, BETWEEN, this::goesOn, () -> {});
    this.look = look;
  }

  /** A claim has found something. */
  void begin() {
    idle = 0;
    ticks.begin();
  }

  private boolean goesOn() {
    idle++;
    return look.getAsBoolean() && idle < IDLE;
  }
}
