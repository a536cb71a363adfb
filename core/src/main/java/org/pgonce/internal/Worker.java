package org.pgonce.internal;

import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.settle.Left;

/** One worker of a drain, from when it begins until it finds nothing left to do. */
final class Worker implements ClaimLoop.Turns {

  private final DrainParts parts;
  private final Lock lock;
  private final Turnstile turnstile;
  private final Places.Place place;
  private final Prospects.Look look;
  private final Runnable join;
  private final BooleanSupplier isHeldUp;
  private final Runnable whenIdle;
  private Standby.Cause cause = Standby.Cause.OTHER;
  // What it has at work, where its channel goes by key.
  private KeyCursors.@Nullable AtWork atWork;
  // Whether the rate allows it one more claim.
  private boolean hasTurn;

  /**
   * Called with the lock held.
   *
   * @param join lets one more worker begin; called with the lock held
   */
  Worker(
      DrainParts parts,
      Places.Place place,
      Runnable join,
      BooleanSupplier isHeldUp,
      Runnable whenIdle) {
    this.parts = parts;
    this.lock = parts.lock();
    this.turnstile = parts.turnstile();
    this.place = place;
    this.look = parts.prospects().look();
    this.join = join;
    this.isHeldUp = isHeldUp;
    this.whenIdle = whenIdle;
  }

  /** The rate allows it a claim. */
  void hasTurn() {
    hasTurn = true;
  }

  @Override
  public Places.Place place() {
    return place;
  }

  @Override
  public boolean looks() {
    lock.lock();
    try {
      hasTurn = false;
      wentBack();
      parts.overload().begins();
      var due = look.begins();
      if (!due) {
        cause = parts.standby().begins();
      }
      return due;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean looksOn() {
    lock.lock();
    try {
      if (parts.places().isStopping() || isPaused() || parts.prospects().isSomethingDue()) {
        return false;
      }
      parts.overload().begins();
      look.beginsOn();
      cause = Standby.Cause.OTHER;
      return true;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void found(@Nullable Claim claim, int count) {
    lock.lock();
    try {
      parts.pace().claimed(claim != null);
      look.found(count);
      if (!look.wasForDue()) {
        parts.standby().found(claim != null, cause);
      }
      if (claim == null) {
        turnstile.giveBack(1);
        return;
      }
      atWork = parts.keys().begins(claim);
      if (look.isMoreLeft()) {
        join.run();
      }
      parts.lookout().begin();
      parts.overload().mayBe();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int mayClaim(int most) {
    return 1 + turnstile.enterMore(most - 1);
  }

  @Override
  public boolean mayRedo(int count) {
    if (parts.places().isStopping() || isPaused()) {
      return false;
    }
    var allowed = turnstile.enterMore(count);
    if (allowed < count) {
      turnstile.giveBack(allowed);
    }
    return allowed == count;
  }

  @Override
  public void notBegun(int count) {
    turnstile.giveBack(count);
  }

  @Override
  public void ended(Left left) {
    lock.lock();
    try {
      if (atWork != null) {
        atWork.ended(left);
        atWork = null;
      }
      look.ended(left);
    } finally {
      lock.unlock();
    }
  }

  /** What it had claimed was let go, if nobody has said how it ended. Called with the lock held. */
  private void wentBack() {
    if (atWork != null) {
      atWork.ended(new Left(true, true));
      atWork = null;
    }
  }

  @Override
  public boolean isPaused() {
    return isHeldUp.getAsBoolean();
  }

  @Override
  public boolean mayGoOn() {
    lock.lock();
    try {
      return !parts.places().isStopping()
          && !isPaused()
          && look.isMoreLeft()
          && (hasTurn = turnstile.enterAtOnce());
    } finally {
      lock.unlock();
    }
  }

  void leave() {
    lock.lock();
    try {
      wentBack();
      look.stops();
      if (hasTurn) {
        turnstile.giveBack(1);
      }
      place.leave();
      parts.overload().left();
      whenIdle.run();
      if (look.isMoreLeft() && parts.prospects().isNobodyLooking()) {
        join.run();
      }
    } finally {
      lock.unlock();
    }
  }
}
