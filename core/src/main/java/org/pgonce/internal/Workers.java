package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.settle.Reports;

/**
 * The workers of a drain: lets one more begin where there may be one, and rests where the database
 * is in trouble, wake-ups come for nothing, or the rate allows no claim. Guarded by the drain's
 * lock.
 */
final class Workers {

  private final Threads threads;
  private final DrainParts parts;
  private final Lock lock;
  private final Prospects prospects;
  private final Places places;
  private final Pace pace;
  private final ClaimLoop stint;
  private final Reports reports;
  private final BooleanSupplier isHeldUp;
  private final Runnable whenIdle;
  private boolean resting;

  /**
   * @param isHeldUp whether no claim may begin; must return at once
   * @param whenIdle called with the lock held when a worker finds nothing left to do; must return
   *     at once
   */
  Workers(
      Threads threads,
      DrainParts parts,
      ClaimLoop stint,
      Reports reports,
      BooleanSupplier isHeldUp,
      Runnable whenIdle) {
    this.threads = threads;
    this.parts = parts;
    this.lock = parts.lock();
    this.prospects = parts.prospects();
    this.places = parts.places();
    this.pace = parts.pace();
    this.stint = stint;
    this.reports = reports;
    this.isHeldUp = isHeldUp;
    this.whenIdle = whenIdle;
  }

  /** Lets one more worker begin, if there may be one. Called with the lock held. */
  void join() {
    if (resting || isHeldUp.getAsBoolean() || !places.isFree()) {
      return;
    }
    var rest = pace.rest();
    if (!rest.isZero()) {
      restFor(rest);
      return;
    }
    var place = places.take();
    if (place != null) {
      var worker = new Worker(parts, place, this::join, isHeldUp, whenIdle);
      threads.run(() -> work(worker));
    }
  }

  private void restFor(Duration time) {
    resting = true;
    var unused = threads.runLater(time, this::rested);
  }

  private void rested() {
    lock.lock();
    try {
      resting = false;
      if (prospects.isWoken() && prospects.isNobodyLooking()) {
        pace.rested();
        join();
      }
    } finally {
      lock.unlock();
    }
  }

  private void work(Worker worker) {
    try {
      var wait = parts.turnstile().enter();
      if (wait.isZero()) {
        worker.hasTurn();
        stint.work(worker);
      } else {
        noTurnFor(wait);
      }
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      trouble(e);
    } finally {
      worker.leave();
    }
  }

  /** The rate allows no claim for now: whatever there is, it is looked for then. */
  private void noTurnFor(Duration wait) {
    lock.lock();
    try {
      prospects.woken(false);
      if (!resting && !places.isStopping()) {
        restFor(wait);
      }
    } finally {
      lock.unlock();
    }
  }

  /** The database, not a notification, is in trouble: rest, then look again. */
  private void trouble(Exception e) {
    if (places.isStopping()) {
      return;
    }
    lock.lock();
    try {
      prospects.woken(false);
      pace.troubled();
    } finally {
      lock.unlock();
    }
    reports.cannotClaim(e);
  }
}
