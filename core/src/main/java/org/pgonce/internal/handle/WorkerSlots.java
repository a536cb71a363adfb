package org.pgonce.internal.handle;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.Status.Paused;
import org.pgonce.internal.concurrent.ThreadTimeout;
import org.pgonce.internal.concurrent.Threads;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workers of one channel in this process: how many there may be, which of them run a handler,
 * and which of those were cut off and have not returned. Thread-safe; its lock is taken within
 * those of its owner, never around them.
 */
public final class WorkerSlots {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerSlots.class);

  // How long a worker whose handler was cut off, and returned, waits for the one who does that: for
  // a connection, which it may get only when this worker's has been taken back, and two statements.
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final Registration<?> subscribed;
  private final Threads threads;
  private final Runnable whenFree;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  // Those whose handler has begun and whose end, one way or the other, is not seen to yet.
  private final Set<Slot> handling = new HashSet<>();
  private int working;
  private int stuck;
  private boolean stopping;

  /**
   * @param whenFree told, on any thread, that a slot has become free by cutting a handler off
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

    /** Its lease went to another: nothing is left to settle. Must not wait. */
    default void leaseLost() {
      throw new IllegalStateException("held by a transaction and not by a lease");
    }
  }

  /** Takes a slot for a worker; null if there is none, or no more work is to begin. */
  public @Nullable Slot take() {
    lock.lock();
    try {
      if (!isFree()) {
        return null;
      }
      working++;
      return new Slot();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether {@link #take} would give one. As many handlers may be stuck as may work, and one more.
   */
  public boolean isFree() {
    lock.lock();
    try {
      var most = subscribed.options().concurrency();
      return !stopping && working < most && stuck <= most;
    } finally {
      lock.unlock();
    }
  }

  public boolean isStopping() {
    lock.lock();
    try {
      return stopping;
    } finally {
      lock.unlock();
    }
  }

  /** No handler begins from now on; those that run go on. */
  public void stop() {
    lock.lock();
    try {
      stopping = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until nobody works; those that are stuck do not count.
   *
   * @param end by System.nanoTime()
   * @return false if somebody still works then
   */
  public boolean awaitIdle(long end) throws InterruptedException {
    lock.lock();
    try {
      while (working > 0 || !handling.isEmpty()) {
        var left = end - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        changed.awaitNanos(left);
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Cuts off the handlers that run. To be called after {@link #stop}. */
  public void release() {
    List<Slot> running;
    lock.lock();
    try {
      running = List.copyOf(handling);
    } finally {
      lock.unlock();
    }
    running.forEach(Slot::release);
  }

  /** How it stands; what it is given is the owner's. */
  public ChannelActivity activity(
      long claims, long emptyClaims, @Nullable Paused paused, @Nullable String outdated) {
    lock.lock();
    try {
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
    } finally {
      lock.unlock();
    }
  }

  /** A worker's slot among the channel's concurrency, given up exactly once. */
  public final class Slot {

    // Of the handler that runs here, or ran last.
    private @Nullable ThreadTimeout deadline;
    private @Nullable CutOff handler;
    private boolean returned;
    private boolean isStuck;

    private Slot() {}

    /**
     * This thread begins to run a handler; it calls {@link #end} after it. False if no handler is
     * to begin any more.
     */
    public boolean begin(CutOff begun) {
      lock.lock();
      try {
        if (stopping) {
          return false;
        }
        // With the lock held, so that nobody can cut it off before it is in the set.
        deadline = new ThreadTimeout(threads, handlerTimeout(), () -> overran(begun));
        handler = begun;
        returned = false;
        handling.add(this);
        return true;
      } finally {
        lock.unlock();
      }
    }

    public boolean isCutOff() {
      return deadline != null && deadline.isCutOff();
    }

    /**
     * The handler has returned, and what it did is settled if it was in time. If not, waits a
     * moment for the one who cuts it off: as long as the connection is in this thread's hands, its
     * session is the handler's, and its row nobody else's.
     *
     * @return whether it was in time; else the connection must not be used any more, and be given
     *     back closed
     */
    public boolean end() {
      var inTime = deadline == null || deadline.end();
      lock.lock();
      try {
        returned = true;
        if (inTime) {
          handling.remove(this);
        } else {
          awaitCutOff();
        }
        return inTime;
      } finally {
        lock.unlock();
      }
    }

    private void awaitCutOff() {
      try {
        for (var left = PATIENCE.toNanos(); left > 0 && handling.contains(this); ) {
          left = changed.awaitNanos(left);
        }
      } catch (InterruptedException e) {
        // By a thread of the handler's, as it seems. This one has nothing left to do but to leave.
        LOG.debug("pgonce: not waited for the end of a handler that was cut off", e);
      }
    }

    private void overran(CutOff begun) {
      try {
        begun.overran(handlerTimeout());
      } finally {
        stick();
        whenFree.run();
      }
    }

    /** The lease of what this handler handles is lost: cuts it off, unless it is done. */
    public void loseLease(CutOff loser) {
      ThreadTimeout lost;
      lock.lock();
      try {
        lost = handler == loser ? deadline : null; // the slot may be another's by now
      } finally {
        lock.unlock();
      }
      if (lost == null || !lost.cutOff()) {
        return;
      }
      try {
        loser.leaseLost();
      } finally {
        stick();
        whenFree.run();
      }
    }

    /** If its thread is not back, and who knows when it will be, its slot goes to another. */
    private void stick() {
      lock.lock();
      try {
        seenTo();
        if (returned) {
          return;
        }
        isStuck = true;
        stuck++;
        working--;
        LOG.error(
            "pgonce: a handler of channel {} overran {} ms, or its lease, and was cut off; {} such handlers have not returned yet; at {} the channel stalls in this process",
            subscribed.label(),
            handlerTimeout().toMillis(),
            stuck,
            subscribed.options().concurrency() + 1);
      } finally {
        lock.unlock();
      }
    }

    private void release() {
      if (deadline == null || handler == null || !deadline.cutOff()) {
        return;
      }
      try {
        handler.released();
      } finally {
        lock.lock();
        try {
          seenTo();
        } finally {
          lock.unlock();
        }
      }
    }

    private void seenTo() {
      handling.remove(this);
      changed.signalAll();
    }

    /** The worker is done. */
    public void leave() {
      lock.lock();
      try {
        if (isStuck) {
          stuck--;
        } else {
          working--;
        }
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
