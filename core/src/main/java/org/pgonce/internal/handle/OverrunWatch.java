package org.pgonce.internal.handle;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.pgonce.internal.concurrent.Threads;

/**
 * Ends the handlers that overrun {@code ListenOptions.handlerTimeout}: {@link
 * WorkerSlots.Slot#cutOff} interrupts the handler's thread, and has another worker settle what it
 * had at work ({@code cutOff} of {@code TransactionalAttempt} and {@code LeaseAttempt}), which ends
 * its session and counts the attempt as failed. One tick for all of a subscription, as most
 * handlers end long before.
 */
final class OverrunWatch {

  private final Object monitor;
  private final Set<WorkerSlots.Slot> handling;
  private final Threads threads;
  // For when the first of the running handlers overruns, or before. Guarded by the monitor.
  private boolean isTickPlanned;

  /**
   * @param monitor of the slots
   * @param handling those whose handler runs; guarded by the monitor
   */
  OverrunWatch(Object monitor, Set<WorkerSlots.Slot> handling, Threads threads) {
    this.monitor = monitor;
    this.handling = handling;
    this.threads = threads;
  }

  /**
   * Whether the caller has to plan the tick, behind the monitor: the timer's lock is not taken
   * within it, which pins a virtual thread up to JDK 23. Called within the monitor.
   */
  boolean tickIsMissing() {
    var isMissing = !isTickPlanned;
    isTickPlanned = true;
    return isMissing;
  }

  void tickIn(Duration time) {
    threads.tickLater(time, this::tick);
  }

  private void tick() {
    var now = System.nanoTime();
    var next = Long.MAX_VALUE;
    synchronized (monitor) {
      for (var slot : List.copyOf(handling)) {
        if (slot.overrunAt() - now <= 0) {
          slot.overruns();
        } else {
          next = Math.min(next, slot.overrunAt() - now);
        }
      }
      isTickPlanned = next < Long.MAX_VALUE;
    }
    if (next < Long.MAX_VALUE) {
      tickIn(Duration.ofNanos(next));
    }
  }
}
