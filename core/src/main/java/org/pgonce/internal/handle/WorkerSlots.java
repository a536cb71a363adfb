package org.pgonce.internal.handle;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.Status.Paused;
import org.pgonce.internal.concurrent.Threads;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workers of one subscription in this process. A handler either ends in time, or is cut off:
 * its thread is interrupted, and another thread ends its session and settles what it had at work
 * ({@link Attempt#cutOff}, of each mode's attempt in consume). A handler that was cut off and has
 * not returned is stuck.
 *
 * <p>Thread-safe. Its monitor is taken within the locks of its owner, never around them; nothing
 * blocks while it is held.
 */
public final class WorkerSlots {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerSlots.class);

  // The settling thread needs two statements, and a connection, which it may get only when this
  // worker's is taken back.
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final Registration<?> subscribed;
  private final Threads threads;
  private final Runnable whenFree;

  // Their handler has begun, and has neither ended in time nor been settled after a cut-off.
  private final Set<Slot> handling = new HashSet<>();
  private final Set<Slot> working = new HashSet<>();
  private final Set<Slot> stuck = new HashSet<>();
  private boolean stopping;

  /**
   * @param whenFree called, on any thread, when a slot may have become free by cutting a handler
   *     off
   */
  public WorkerSlots(Registration<?> subscribed, Threads threads, Runnable whenFree) {
    this.subscribed = subscribed;
    this.threads = threads;
    this.whenFree = whenFree;
  }

  public enum Cause {
    OVERRUN,
    STOP,
    LEASE_LOST
  }

  /** What a handler has at work. */
  @FunctionalInterface
  public interface Attempt {

    /** Settles it: its thread is interrupted. Runs on another worker; may wait for the database. */
    void cutOff(Cause cause);
  }

  /**
   * Takes a slot for a worker; null if there is none, or no more work is to begin. As many handlers
   * may be stuck as may work, and one more.
   */
  public synchronized @Nullable Slot take() {
    if (stopping || working.size() >= most() || stuck.size() > most()) {
      return null;
    }
    var slot = new Slot();
    working.add(slot);
    return slot;
  }

  public int most() {
    return subscribed.options().concurrency();
  }

  public synchronized boolean isStopping() {
    return stopping;
  }

  /** No handler begins from now on; those that run go on. */
  public synchronized void stop() {
    stopping = true;
  }

  /**
   * Waits until no worker is left but the stuck ones, and each cut-off is settled.
   *
   * @param end by System.nanoTime()
   */
  public synchronized boolean awaitIdle(long end) throws InterruptedException {
    while (!working.isEmpty() || !handling.isEmpty()) {
      var left = end - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return true;
  }

  /**
   * Cuts off the handlers that run. To be called after {@link #stop}.
   *
   * @return how many have not ended by themselves
   */
  public synchronized int cutOffAll() {
    var running = List.copyOf(handling);
    for (var slot : running) {
      slot.cutOff(Objects.requireNonNull(slot.attempt), Cause.STOP);
    }
    return running.size();
  }

  public synchronized ChannelActivity activity(
      long claims, long emptyClaims, @Nullable Paused paused, @Nullable String outdated) {
    return new ChannelActivity(
        subscribed.name(),
        subscribed.subscription(),
        subscribed.channel().mode(),
        subscribed.options().concurrency(),
        working.size(),
        stuck.size(),
        claims,
        emptyClaims,
        paused,
        outdated);
  }

  /** A worker's slot among the subscription's concurrency, given up exactly once. */
  public final class Slot {

    // Of the handler that runs here, or ran last. Guarded by the monitor of the slots.
    private @Nullable Attempt attempt;
    private @Nullable Thread thread;
    private @Nullable Cause cutOffFor;
    // Of the handler's thread alone.
    private @Nullable Future<?> overrun;

    private Slot() {}

    /** A handler begins on this thread, before {@link #end}. False if none may begin any more. */
    public boolean begin(Attempt begun) {
      synchronized (WorkerSlots.this) {
        if (stopping) {
          return false;
        }
        attempt = begun;
        thread = Thread.currentThread();
        handling.add(this);
      }
      // Not within the monitor: it waits for the timer's lock.
      overrun =
          threads.tickLater(
              subscribed.options().handlerTimeout(), () -> cutOff(begun, Cause.OVERRUN));
      return true;
    }

    public boolean isCutOff() {
      synchronized (WorkerSlots.this) {
        return cutOffFor != null;
      }
    }

    /**
     * The handler has returned, and is settled if it was in time. If not, waits a moment for the
     * settling thread: while this one has the connection, no other claim can have its row. Clears
     * the thread's interrupt.
     *
     * @return whether it was in time; else the connection must be given back closed, and the slot
     *     left
     */
    public boolean end() {
      if (overrun != null) {
        overrun.cancel(false);
      }
      synchronized (WorkerSlots.this) {
        thread = null;
        Thread.interrupted();
        if (cutOffFor == null) {
          handling.remove(this);
        } else if (cutOffFor != Cause.STOP) {
          awaitSettled();
        }
        return cutOffFor == null;
      }
    }

    private void awaitSettled() {
      var end = System.nanoTime() + PATIENCE.toNanos();
      try {
        for (var left = PATIENCE.toNanos(); handling.contains(this) && left > 0; ) {
          TimeUnit.NANOSECONDS.timedWait(WorkerSlots.this, left);
          left = end - System.nanoTime();
        }
      } catch (InterruptedException e) {
        // By a thread of the handler's.
        LOG.debug("pgonce: not waited for the end of a handler that was cut off", e);
      }
    }

    /**
     * Cuts the handler off, unless it has ended or was cut off before. The interrupt never reaches
     * a thread that does something else by now.
     *
     * @param whose what the handler has at work: the slot may have another one by now
     */
    public void cutOff(Attempt whose, Cause cause) {
      synchronized (WorkerSlots.this) {
        if (attempt != whose || thread == null || cutOffFor != null) {
          return;
        }
        cutOffFor = cause;
        thread.interrupt();
      }
      threads.run(
          () -> {
            try {
              whose.cutOff(cause);
            } finally {
              settled(cause);
              whenFree.run();
            }
          });
    }

    /** If its thread is not back, another gets its place; not where the listener stops. */
    private void settled(Cause cause) {
      int left;
      synchronized (WorkerSlots.this) {
        handling.remove(this);
        WorkerSlots.this.notifyAll();
        if (thread == null || cause == Cause.STOP) {
          return;
        }
        working.remove(this);
        stuck.add(this);
        left = stuck.size();
      }
      var options = subscribed.options();
      LOG.error(
          "pgonce: a handler of channel {} overran {} ms, or its lease, and was cut off; {} such handlers have not returned yet; at {} the channel stalls in this process",
          subscribed.label(),
          options.handlerTimeout().toMillis(),
          left,
          options.concurrency() + 1);
    }

    /** The worker is done. */
    public void leave() {
      synchronized (WorkerSlots.this) {
        working.remove(this);
        stuck.remove(this);
        WorkerSlots.this.notifyAll();
      }
    }
  }
}
