package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns every thread of a listener but the one that hears: workers, which may wait for the database
 * or run a handler, and one timer, which must do neither and only hands on. How many workers there
 * are is bounded by those who ask for them: the drains' concurrency.
 */
public final class Threads implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Threads.class);

  // Whose worker a thread is at the moment.
  private static final ThreadLocal<@Nullable Threads> OWNER = new ThreadLocal<>();

  // Until the machine has a thread to give again.
  private static final Duration SHORTAGE = Duration.ofMillis(250);

  private final ExecutorService workers;
  private final ScheduledThreadPoolExecutor timer;
  private final Alarms alarms =
      new Alarms(
          new Alarms.Timer() {
            @Override
            public void lookAfter(long nanos, Runnable look) {
              tickLater(Duration.ofNanos(nanos), look);
            }

            @Override
            public void run(Runnable work) {
              Threads.this.run(work);
            }
          });

  /** Something that will happen unless it is cancelled before. */
  @FunctionalInterface
  public interface Alarm {
    /** Idempotent; without effect on what has begun. */
    void cancel();
  }

  public Threads() {
    this(virtualWhereTheyAre());
  }

  Threads(ExecutorService workers) {
    this.workers = workers;
    timer = new ScheduledThreadPoolExecutor(1, daemons("pgonce-timer-"));
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    // Now, and not with the first delay: it is what helps when there are no threads to be had.
    timer.prestartCoreThread();
  }

  /**
   * Runs the work on a thread of its own, as soon as the machine has one to give; drops it if this
   * is closed. Whoever counts its workers can count this one from now on.
   */
  public void run(Runnable work) {
    try {
      try {
        workers.execute(() -> guarded(work));
      } catch (OutOfMemoryError noThread) {
        // «unable to create native thread»: too many in the machine or the container, which passes.
        LOG.error(
            "pgonce: no thread for a worker ({}); tried again in {} ms",
            noThread.getMessage(),
            SHORTAGE.toMillis());
        var unused = runLater(SHORTAGE, work);
      }
    } catch (RejectedExecutionException closed) {
      LOG.debug("pgonce: not run, the listener has stopped");
    }
  }

  /** Whether the current thread is one of these, as a handler's is. */
  public boolean isOwn() {
    return OWNER.get() == this;
  }

  /** Runs the work on a thread of its own after the delay; drops it if this is closed by then. */
  public ScheduledFuture<?> runLater(Duration delay, Runnable work) {
    return timer.schedule(() -> run(work), delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  /**
   * Runs it on the timer's thread after the delay: it must not wait for anything but a short lock.
   */
  public void tickLater(Duration delay, Runnable tick) {
    try {
      var unused = timer.schedule(tick, delay.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("pgonce: not timed, the listener has stopped");
    }
  }

  /**
   * Runs the work on a thread of its own after the time, unless the alarm is cancelled before;
   * drops it if this is closed by then. Cheaper than {@link #runLater} for what is mostly
   * cancelled.
   */
  public Alarm alarmAfter(Duration time, Runnable work) {
    return alarms.set(time, work);
  }

  private void guarded(Runnable work) {
    OWNER.set(this);
    try {
      work.run();
    } catch (Throwable unexpected) {
      // The last line of defence: each work catches what it expects. Errors such as
      // OutOfMemoryError must not pass unheard.
      LOG.error(
          "pgonce: a worker ended unexpectedly; its channel goes on with the next wake-up or poll",
          unexpected);
    } finally {
      OWNER.remove();
    }
  }

  /**
   * Takes no new work, and interrupts who still runs: those that wait for a connection, for one.
   */
  @Override
  public void close() {
    timer.shutdownNow();
    workers.shutdownNow();
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
