package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A worker that has found nothing left to do keeps its connection for a moment: the next row meets
 * a session whose settings are known, and a driver that has its statements prepared. One worker of
 * a subscription parks, for {@link #LONGEST} at most, so that whoever waits for a connection of a
 * pool that is too small waits no longer. Guarded by the consumer's lock, with which each method is
 * called.
 */
final class ParkedWorker {

  static final Duration LONGEST = Duration.ofMillis(50);

  private final Condition changed;
  private @Nullable ClaimWorker parked;
  private boolean stopped;

  ParkedWorker(Lock lock) {
    this.changed = lock.newCondition();
  }

  /** Returns whether the worker is to go on; false at once where another one is parked. */
  boolean park(ClaimWorker worker) {
    if (parked != null || stopped) {
      return false;
    }
    parked = worker;
    var left = LONGEST.toNanos();
    try {
      while (parked == worker && !stopped && left > 0) {
        left = changed.awaitNanos(left);
      }
      return parked != worker;
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
      return parked != worker;
    } finally {
      if (parked == worker) {
        parked = null;
      }
    }
  }

  /** The worker that is parked goes on; null if there is none. */
  @Nullable ClaimWorker unpark() {
    var worker = parked;
    if (worker != null) {
      parked = null;
      changed.signalAll();
    }
    return worker;
  }

  void stop() {
    stopped = true;
    changed.signalAll();
  }
}
