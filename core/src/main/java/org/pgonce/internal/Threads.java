package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns every thread of a listener but the one that hears: workers, which may wait for the database
 * or run a handler, and one timer, which must do neither and only hands on. How many workers there
 * are is bounded by those who ask for them: the drains' concurrency.
 */
public final class Threads implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Threads.class);

  private final ExecutorService workers = virtualWhereTheyAre();
  private final ScheduledThreadPoolExecutor timer;

  public Threads() {
    timer = new ScheduledThreadPoolExecutor(1, daemons("pgonce-timer-"));
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** Runs the work on a thread of its own; drops it if this is closed. */
  public void run(Runnable work) {
    try {
      workers.execute(() -> guarded(work));
    } catch (RejectedExecutionException closed) {
      LOG.debug("pgonce: not run, the listener has stopped");
    }
  }

  /** Runs the work on a thread of its own after the delay; drops it if this is closed by then. */
  public ScheduledFuture<?> runLater(Duration delay, Runnable work) {
    return timer.schedule(() -> run(work), delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  private static void guarded(Runnable work) {
    try {
      work.run();
    } catch (Throwable unexpected) {
      // The last line of defence: each work catches what it expects. Errors such as
      // OutOfMemoryError must not pass unheard.
      LOG.error(
          "pgonce: a worker ended unexpectedly; its channel goes on with the next wake-up or scan",
          unexpected);
    }
  }

  /**
   * Takes no new work; interrupts nobody. Who runs still ends by itself or is ended by its drain.
   */
  @Override
  public void close() {
    timer.shutdownNow();
    workers.shutdown();
  }

  private static ExecutorService virtualWhereTheyAre() {
    try {
      // From JDK 21 on; the library is compiled for 17.
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException none) {
      return Executors.newCachedThreadPool(daemons("pgonce-worker-"));
    }
  }

  private static ThreadFactory daemons(String prefix) {
    var count = new AtomicLong();
    return work -> {
      var thread = new Thread(work, prefix + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }
}
