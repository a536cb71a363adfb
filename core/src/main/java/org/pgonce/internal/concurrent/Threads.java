package org.pgonce.internal.concurrent;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads of a listener but the listening one: workers, which run handlers or wait for the
 * database, and one timer, which hands work to them. Callers bound the number of workers.
 *
 * <p>They are platform threads. On virtual ones, a few handlers that compute, or block within a
 * monitor up to JDK 23, keep all processors from what polls, renews leases and cuts handlers off.
 */
public final class Threads implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Threads.class);

  // Whose worker a thread is at the moment.
  private static final ThreadLocal<@Nullable Threads> OWNER = new ThreadLocal<>();

  // Before it asks the machine for a thread again.
  private static final Duration SHORTAGE = Duration.ofMillis(250);

  private final ExecutorService workers;
  private final ScheduledThreadPoolExecutor timer;

  public Threads() {
    this(Executors.newCachedThreadPool(daemons("pgonce-worker-")));
  }

  Threads(ExecutorService workers) {
    this.workers = workers;
    timer = new ScheduledThreadPoolExecutor(1, daemons("pgonce-timer-"));
    timer.setRemoveOnCancelPolicy(true);
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    // It is needed when the machine has no threads left.
    timer.prestartCoreThread();
  }

  /** Runs the work on a worker, as soon as the machine has a thread; drops it if this is closed. */
  public void run(Runnable work) {
    try {
      workers.execute(() -> guarded(work));
    } catch (OutOfMemoryError noThread) {
      // «unable to create native thread»: the machine or container has too many for now.
      var unused = runLater(SHORTAGE, work);
      said(
          () ->
              LOG.error(
                  "pgonce: no thread for a worker ({}); tried again in {} ms",
                  noThread.getMessage(),
                  SHORTAGE.toMillis()));
    } catch (RejectedExecutionException closed) {
      LOG.debug("pgonce: not run, the listener has stopped");
    }
  }

  /** Whether the current thread is a worker of any listener. */
  public static boolean isWorker() {
    return OWNER.get() != null;
  }

  /** Whether the current thread is a worker of a listener whose time to stop is over. */
  public static boolean isClosed() {
    var owner = OWNER.get();
    return owner != null && owner.workers.isShutdown();
  }

  /** Whether the current thread is one of these workers, as a handler's is, or works as one. */
  public boolean isOwn() {
    return OWNER.get() == this;
  }

  /** Runs the work on the current thread, which is no worker otherwise. */
  public void asOwn(Runnable work) {
    OWNER.set(this);
    try {
      work.run();
    } finally {
      OWNER.remove();
    }
  }

  /** Runs the work on a worker after the delay, unless it is cancelled or this is closed. */
  public Future<?> runLater(Duration delay, Runnable work) {
    return tickLater(delay, () -> run(work));
  }

  /** Runs it on the timer's thread after the delay: it must not wait but for a short lock. */
  public Future<?> tickLater(Duration delay, Runnable tick) {
    try {
      return timer.schedule(tick, delay.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("pgonce: not timed, the listener has stopped");
      return new FutureTask<>(tick, null);
    }
  }

  private void guarded(Runnable work) {
    try {
      asOwn(work);
    } catch (Throwable unexpected) {
      // Errors such as OutOfMemoryError, too.
      said(
          () ->
              LOG.error(
                  "pgonce: a worker ended unexpectedly; its channel goes on with the next wake-up or poll",
                  unexpected));
    }
  }

  /** Where memory is short, the words may cost an Error of their own. */
  private static void said(Runnable words) {
    try {
      words.run();
    } catch (Throwable alsoShort) {
      // There is nobody to tell.
    }
  }

  /** Takes no new work, and interrupts the workers. */
  @Override
  public void close() {
    timer.shutdownNow();
    workers.shutdownNow();
  }

  private static ThreadFactory daemons(String prefix) {
    var count = new AtomicLong();
    return work -> daemon(prefix + count.incrementAndGet(), work);
  }

  /** A thread that does not keep the JVM alive, not yet started. */
  public static Thread daemon(String name, Runnable work) {
    var thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }
}
