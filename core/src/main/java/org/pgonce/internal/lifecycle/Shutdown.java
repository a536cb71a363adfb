package org.pgonce.internal.lifecycle;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.handle.WorkerSlots;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stops a listener, as {@link org.pgonce.PgOnce#stop} says. On SIGTERM: {@link
 * org.pgonce.PgOnce#awaitStopped}, while a thread waits in it, has a hook that calls {@link
 * org.pgonce.PgOnce#close}, and Spring stops the bean. A process with neither ends as if killed.
 */
final class Shutdown {

  private static final Logger LOG = LoggerFactory.getLogger(Shutdown.class);

  // After the deadline, for interrupted handlers to return and for the database to be told. With
  // the 3 s of NotificationListener.close the most that it takes beyond the deadline.
  static final Duration GRACE = Duration.ofSeconds(2);

  private final Runnable stop;
  private final FutureTask<?> unregistering;
  private final List<WorkerSlots> slots;
  private final Threads threads;
  private final AtomicBoolean interrupted = new AtomicBoolean();

  /**
   * @param stop sees to it that nothing begins any more; returns within 3 s
   * @param unregister tells the database that the listener has stopped
   */
  Shutdown(Runnable stop, Callable<?> unregister, List<WorkerSlots> slots, Threads threads) {
    this.stop = stop;
    this.unregistering = new FutureTask<>(unregister);
    this.slots = slots;
    this.threads = threads;
  }

  /** Returns whether all handlers ended by themselves. */
  boolean within(Duration deadline) throws InterruptedException {
    var end = System.nanoTime() + Math.max(0, TimeUnit.NANOSECONDS.convert(deadline));
    var idle = false;
    try {
      stop.run();
      idle = awaitIdle(end);
    } finally {
      if (!idle) {
        cutOff();
      }
      finish(System.nanoTime() + GRACE.toNanos());
    }
    return !interrupted.get();
  }

  private boolean awaitIdle(long end) throws InterruptedException {
    for (var one : slots) {
      if (!one.awaitIdle(end)) {
        return false;
      }
    }
    return true;
  }

  /** A worker without a handler, such as one behind its last row, has nothing to give back. */
  private void cutOff() {
    var handlers = slots.stream().mapToInt(WorkerSlots::cutOffAll).sum();
    if (handlers > 0 && interrupted.compareAndSet(false, true)) {
      LOG.warn(
          "pgonce: {} handlers still run when the time to stop is over; they are interrupted and their notifications given back",
          handlers);
    }
  }

  private void finish(long end) throws InterruptedException {
    try {
      threads.run(unregistering); // runs once, however many threads stop the listener
      if (awaitIdle(end)) {
        unregistering.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } catch (TimeoutException | ExecutionException | CancellationException e) {
      LOG.debug("pgonce: the database could not be told that the listener has stopped", e);
    } finally {
      unregistering.cancel(true);
      threads.close();
    }
  }
}
