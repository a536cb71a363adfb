package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.spi.Event.WaitCause;

/**
 * A worker of a subscription: it runs the {@link ClaimLoop} while claims are wanted, and then waits
 * for more to do. For 50 ms it keeps its connection, so that the next row meets a session whose
 * settings are known and a driver that has its statements prepared. After that it gives back slot
 * and connection and keeps its thread for a minute, to which a pool gives the same connection
 * again.
 */
final class ClaimWorker implements Runnable, Worker {

  // Short, for those that wait for a connection of a pool that is too small.
  private static final Duration WITH_CONNECTION = Duration.ofMillis(50);
  private static final Duration WITH_THREAD = Duration.ofMinutes(1);

  private final SubscriptionConsumer consumer;
  private final ClaimLoop loop;
  private final FetchTrigger trigger;
  private final FetchTrigger.Claiming claiming;
  private final @Nullable RateLimiter rate;
  private WorkerSlots.@Nullable Slot slot;
  // Permits of the rate that no handler has used.
  private int permits;
  // The first of what it has claimed, until that has ended.
  private @Nullable Claim atWork;
  private boolean hasFound;

  ClaimWorker(SubscriptionConsumer consumer, ClaimLoop loop) {
    this.consumer = consumer;
    this.loop = loop;
    this.trigger = consumer.trigger;
    this.claiming = trigger.claiming();
    this.rate = consumer.rate;
  }

  /**
   * Takes a slot and counts the worker as claiming; false if no slot is free. Called with the lock
   * held.
   */
  boolean starts() {
    if (slot == null) {
      slot = consumer.slots().take();
    }
    if (slot == null) {
      return false;
    }
    claiming.starts();
    return true;
  }

  @Override
  public void run() {
    do {
      try {
        work();
      } finally {
        leave();
      }
    } while (consumer.awaitCall(this, WITH_THREAD));
  }

  private void work() {
    try {
      var wait = rate == null ? Duration.ZERO : rate.takePermit();
      if (wait.isZero()) {
        permits = rate == null ? 0 : 1;
        loop.work(this);
      } else {
        rest(wait);
        consumer.reports.waited(WaitCause.RATE, wait);
      }
    } catch (Throwable e) {
      // Errors too, such as of a class that is not there: without a rest it is tried again at once.
      consumer.troubled(e);
    }
  }

  @Override
  public WorkerSlots.Slot slot() {
    return Objects.requireNonNull(slot);
  }

  @Override
  public void rest(Duration time) {
    consumer.withLock(() -> trigger.rest(time));
  }

  @Override
  public boolean begins() {
    return consumer.locked(claiming::begins);
  }

  @Override
  public boolean beginsBehindCommit() {
    return consumer.locked(
        () -> {
          var begins = mayBegin() && !trigger.isDue();
          if (begins) {
            claiming.beginsBehindCommit();
          }
          return begins;
        });
  }

  @Override
  public int permits(int wanted) {
    if (rate == null) {
      return wanted;
    }
    if (permits < wanted) {
      permits += rate.takeKept(wanted - permits);
    }
    return Math.min(permits, wanted);
  }

  @Override
  public void found(List<Claim> claims, int most) {
    consumer.withLock(
        () -> {
          keepPermits(claims.size());
          hasFound |= !claims.isEmpty();
          claiming.found(claims.size(), most);
          if (!claims.isEmpty()) {
            atWork = claims.get(0);
            trigger.beginIfWanted();
          }
        });
    if (claims.isEmpty()) {
      consumer.poll.somethingWaits(); // others may have what there is
    }
  }

  private void keepPermits(int count) {
    if (rate != null) {
      rate.giveBack(permits - count);
      permits = count;
    }
  }

  @Override
  public boolean mayBegin() {
    return !consumer.slots().isStopping() && !consumer.isHeldUp();
  }

  @Override
  public boolean begin(WorkerSlots.Attempt attempt, int count) {
    if (!mayBegin() || !slot().begin(attempt)) {
      return false;
    }
    permits -= rate == null ? 0 : count;
    return true;
  }

  @Override
  public void ended(RowsBehind left) {
    consumer.withLock(
        () -> {
          if (atWork != null) {
            consumer.cursors.ended(atWork, left);
            atWork = null;
          }
          claiming.ended(left);
        });
  }

  /** What was claimed and has not {@link #ended} was let go: it may be claimed again. */
  private void endIfLetGo() {
    if (atWork != null) {
      ended(new RowsBehind(true, true));
    }
  }

  @Override
  public void handsOver() {
    consumer.withLock(trigger::beginIfWanted);
  }

  @Override
  public boolean mayGoOn() {
    return consumer.locked(
        () -> {
          endIfLetGo();
          keepPermits(0);
          if (hasFound) {
            hasFound = false;
            trigger.worked();
          }
          return mayBegin()
              // Once more at the end: a look that had to rest may be due by now.
              && (trigger.isWanted()
                  || consumer.awaitCall(this, WITH_CONNECTION)
                  || trigger.isWanted())
              && mayBegin()
              && permits(1) == 1;
        });
  }

  private void leave() {
    consumer.withLock(
        () -> {
          endIfLetGo();
          hasFound = false;
          claiming.ends();
          keepPermits(0);
          slot().leave();
          slot = null;
          trigger.beginIfWanted();
        });
  }
}
