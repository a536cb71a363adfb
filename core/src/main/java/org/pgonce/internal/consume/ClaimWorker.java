package org.pgonce.internal.consume;

import java.sql.SQLException;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.handle.WorkerSlots;

/** One worker of a subscription, from its first claim until nothing is wanted any more. */
final class ClaimWorker implements ClaimLoop.Control {

  private final SubscriptionConsumer<?> consumer;
  private final Lock lock;
  private final FetchTrigger trigger;
  private final FetchTrigger.Claiming claiming;
  private final RateLimiter rate;
  private final WorkerSlots.Place slot;
  private @Nullable Claim atWork;
  private boolean hasPermit;
  // Whether it has claimed new rows of which nobody has said how they ended.
  private boolean isUnsettled;

  /** Called with the consumer's lock held. */
  ClaimWorker(SubscriptionConsumer<?> consumer, WorkerSlots.Place slot) {
    this.consumer = consumer;
    this.lock = consumer.lock();
    this.trigger = consumer.trigger();
    this.claiming = trigger.claiming();
    this.rate = consumer.rate();
    this.slot = slot;
  }

  /** Claims and handles; returns when nothing is wanted that this worker can do. */
  void work(ClaimLoop loop) {
    try {
      var wait = rate.enter();
      if (wait.isZero()) {
        hasPermit = true;
        loop.work(this);
      } else {
        consumer.restFor(wait);
      }
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      consumer.troubled(e);
    } finally {
      leave();
    }
  }

  @Override
  public WorkerSlots.Place place() {
    return slot;
  }

  @Override
  public boolean begins() {
    lock.lock();
    try {
      hasPermit = false;
      isUnsettled = false;
      wentBack();
      consumer.counts().begins();
      return claiming.begins();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean beginsBehindCommit() {
    lock.lock();
    try {
      if (!consumer.mayClaim() || trigger.isDue()) {
        return false;
      }
      consumer.counts().begins();
      claiming.beginsBehindCommit();
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void found(@Nullable Claim claim, int count) {
    lock.lock();
    try {
      consumer.counts().found(count, claiming.wasForDue());
      claiming.found(count);
      if (claim == null) {
        rate.giveBack(1);
        return;
      }
      atWork = claim;
      isUnsettled = !claiming.wasForDue();
      trigger.beginIfWanted();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int mayClaim(int most) {
    return 1 + rate.enterMore(most - 1);
  }

  @Override
  public boolean mayRedo(int count) {
    if (!consumer.mayClaim()) {
      return false;
    }
    var allowed = rate.enterMore(count);
    if (allowed < count) {
      rate.giveBack(allowed);
    }
    return allowed == count;
  }

  @Override
  public void notBegun(int count) {
    rate.giveBack(count);
  }

  @Override
  public void ended(RowsBehind left) {
    lock.lock();
    try {
      if (atWork != null) {
        consumer.keys().ended(atWork, left);
        atWork = null;
      }
      isUnsettled = false;
      trigger.settled(left);
    } finally {
      lock.unlock();
    }
  }

  /** What it had claimed was let go, if nobody has said how it ended. Called with the lock held. */
  private void wentBack() {
    if (atWork != null) {
      consumer.keys().ended(atWork, new RowsBehind(true, true));
      atWork = null;
    }
  }

  @Override
  public boolean isPaused() {
    return consumer.isHeldUp();
  }

  @Override
  public boolean mayGoOn() {
    lock.lock();
    try {
      return consumer.mayClaim()
          && (trigger.isWanted() || consumer.parked().park(this))
          && (hasPermit = rate.enterAtOnce());
    } finally {
      lock.unlock();
    }
  }

  /** It was parked, and claims from now on. Called with the lock held. */
  void goesOn() {
    claiming.starts();
  }

  private void leave() {
    lock.lock();
    try {
      wentBack();
      claiming.ends();
      if (isUnsettled) {
        trigger.wentBack();
      }
      if (hasPermit) {
        rate.giveBack(1);
      }
      slot.leave();
      trigger.beginIfWanted();
    } finally {
      lock.unlock();
    }
  }
}
