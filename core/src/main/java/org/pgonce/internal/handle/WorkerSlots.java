package org.pgonce.internal.handle;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.Status.Paused;
import org.pgonce.internal.concurrent.Deadline;
import org.pgonce.internal.concurrent.Threads;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workers of one subscription in this process: how many there may be, which of them run a
 * handler, and which of those were cut off and have not returned. Thread-safe. Its monitor is taken
 * within the locks of its owner, never around them; nothing blocks while it is held.
 */
public final class WorkerSlots {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerSlots.class);

  // How long a worker whose handler was cut off waits for the thread that settles this: for a
  // connection, which it may get only when this worker's is taken back, and two statements.
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final Registration<?> subscribed;
  private final Threads threads;
  private final Runnable whenFree;

  // Slots whose handler has begun, and has neither ended in time nor been seen to after a cut-off.
  private final Set<Slot> handling = new HashSet<>();
  private int working;
  private int stuck;
  private boolean stopping;

  /**
   * @param whenFree called, on any thread, when a slot has become free by cutting a handler off
   */
  public WorkerSlots(Registration<?> subscribed, Threads threads, Runnable whenFree) {
    this.subscribed = subscribed;
    this.threads = threads;
    this.whenFree = whenFree;
  }

  private Duration handlerTimeout() {
    return subscribed.options().handlerTimeout();
  }

  /** What becomes of a handler that is cut off. Its thread is interrupted already. */
  public interface CutOff {

    /** It did not return in its time. On a worker's thread; may wait for the database. */
    void overran(Duration timeout);

    /** The listener stops. Must not wait. */
    void released();

    /** Its lease is lost: nothing is left to settle. Must not wait. */
    default void leaseLost() {
      throw new IllegalStateException("held by a transaction and not by a lease");
    }
  }

  /** Takes a slot for a worker; null if there is none, or no more work is to begin. */
  public synchronized @Nullable Slot take() {
    if (!isFree()) {
      return null;
    }
    working++;
    return new Slot();
  }

  /**
   * Whether {@link #take} would give one. As many handlers may be stuck as may work, and one more.
   */
  public synchronized boolean isFree() {
    var most = subscribed.options().concurrency();
    return !stopping && working < most && stuck <= most;
  }

  public synchronized boolean isStopping() {
    return stopping;
  }

  /** No handler begins from now on; those that run go on. */
  public synchronized void stop() {
    stopping = true;
  }

  /**
   * Waits until nobody works; those that are stuck do not count.
   *
   * @param end by System.nanoTime()
   * @return false if somebody still works then
   */
  public synchronized boolean awaitIdle(long end) throws InterruptedException {
    while (working > 0 || !handling.isEmpty()) {
      var left = end - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return true;
  }

  /** Cuts off the handlers that run. To be called after {@link #stop}. */
  public void release() {
    running().forEach(Slot::release);
  }

  private synchronized List<Slot> running() {
    return List.copyOf(handling);
  }

  /** Its state for the status; what it is given is the owner's. */
  public synchronized ChannelActivity activity(
      long claims, long emptyClaims, @Nullable Paused paused, @Nullable String outdated) {
    return new ChannelActivity(
        subscribed.name(),
        subscribed.subscription(),
        subscribed.channel().mode(),
        working,
        stuck,
        claims,
        emptyClaims,
        paused,
        outdated);
  }

  /** A worker's slot among the subscription's concurrency, given up exactly once. */
  public final class Slot {

    // Of the handler that runs here, or ran last.
    private @Nullable HandlerTimeout timeout;
    private @Nullable CutOff handler;
    private boolean returned;
    private boolean isStuck;

    private Slot() {}

    /**
     * This thread begins to run a handler, and calls {@link #end} after it. False if no handler is
     * to begin any more.
     */
    public boolean begin(CutOff begun) {
      synchronized (WorkerSlots.this) {
        if (stopping) {
          return false;
        }
        timeout =
            new HandlerTimeout(
                threads, handlerTimeout(), () -> settle(() -> begun.overran(handlerTimeout())));
        handler = begun;
        returned = false;
        handling.add(this);
        return true;
      }
    }

    public boolean isCutOff() {
      return timeout != null && timeout.isCutOff();
    }

    /**
     * The handler has returned, and is settled if it was in time. If not, waits a moment for the
     * thread that cut it off: as long as this one has the connection, no other can have its row.
     *
     * @return whether it was in time; else the connection must be given back closed
     */
    public boolean end() {
      var inTime = timeout == null || timeout.end();
      synchronized (WorkerSlots.this) {
        returned = true;
        if (inTime) {
          handling.remove(this);
        } else {
          awaitSettled();
        }
      }
      return inTime;
    }

    private void awaitSettled() {
      var patience = Deadline.in(PATIENCE);
      try {
        while (handling.contains(this) && !patience.passed()) {
          WorkerSlots.this.wait(patience.remainingMillis());
        }
      } catch (InterruptedException e) {
        // By a thread of the handler's. This one has nothing left to do but to leave.
        LOG.debug("pgonce: not waited for the end of a handler that was cut off", e);
      }
    }

    /** The lease of what this handler handles is lost: cuts it off, unless it is done. */
    public void loseLease(CutOff loser) {
      HandlerTimeout lost;
      synchronized (WorkerSlots.this) {
        lost = handler == loser ? timeout : null; // the slot may be another's by now
      }
      if (lost != null && lost.cutOff()) {
        settle(loser::leaseLost);
      }
    }

    /** Settles a handler that was cut off. If its thread is not back, another gets its place. */
    private void settle(Runnable settling) {
      try {
        settling.run();
      } finally {
        seenTo(true);
        whenFree.run();
      }
    }

    private void release() {
      if (timeout == null || handler == null || !timeout.cutOff()) {
        return;
      }
      try {
        handler.released();
      } finally {
        seenTo(false);
      }
    }

    private void seenTo(boolean replaced) {
      synchronized (WorkerSlots.this) {
        handling.remove(this);
        WorkerSlots.this.notifyAll();
        if (returned || !replaced) {
          return;
        }
        isStuck = true;
        stuck++;
        working--;
      }
      LOG.error(
          "pgonce: a handler of channel {} overran {} ms, or its lease, and was cut off; {} such handlers have not returned yet; at {} the channel stalls in this process",
          subscribed.label(),
          handlerTimeout().toMillis(),
          stuck,
          subscribed.options().concurrency() + 1);
    }

    /** The worker is done. */
    public void leave() {
      synchronized (WorkerSlots.this) {
        if (isStuck) {
          stuck--;
        } else {
          working--;
        }
        WorkerSlots.this.notifyAll();
      }
    }
  }
}
