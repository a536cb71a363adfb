package org.pgonce.internal;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.claim.ScanStatements.Found;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.deliver.Subscribed;
import org.pgonce.internal.settle.LeaseSettlement;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.Suspects;
import org.pgonce.internal.settle.TransactionalSettlement;

/**
 * Empties one subscription as far as this process can. Wake-ups that come while it is at work are
 * folded into one; a further worker joins only while there is work that the others do not get to.
 */
final class Drain<T> implements Scanned, Wakeful {

  private final int subscription;
  private final Context context;
  private final Pausing pausing;
  private final DefinitionWatch definition;
  private final Wakefulness wakefulness;
  private final Runnable scanSoon;
  private final ClaimCursor cursor = new ClaimCursor();
  private final KeyCursors keys;
  private final Pace pace = new Pace();
  private final HeadStart headStart;
  private final Places places;
  private final AtomicBoolean looksAgain = new AtomicBoolean();
  private final AtomicBoolean looksAgainForDue = new AtomicBoolean();

  private final ReentrantLock lock = new ReentrantLock();
  private final Tally tally = new Tally();
  private final Prospects prospects;
  private final Standby standby;
  private final Overload overload;
  private final Workers workers;

  Drain(
      Subscribed<T> subscribed,
      Context context,
      Sessions sessions,
      Scan scan,
      Wakefulness wakefulness) {
    this.wakefulness = wakefulness;
    this.scanSoon = () -> scan.within(Scan.WHILE_SOMETHING_WAITS);
    this.subscription = subscribed.installed().subscription();
    this.context = context;
    this.keys = KeyCursors.create(subscribed.goesByKey());
    var delivery = new Delivery<>(subscribed, context.codec(), context.publisher());
    this.headStart = new HeadStart(context.threads());
    this.pausing = new Pausing(subscribed, context.observer());
    this.definition = new DefinitionWatch(subscribed, context.observer());
    var reports = new Reports(subscribed, context.observer(), scan::within, headStart::give);
    var suspects = new Suspects(subscribed, reports);
    var parts =
        new Settlement.Parts(
            subscribed,
            context.transactions(),
            reports,
            keys.fresh()::reachedId,
            new HandlerPause(subscribed, context, pausing, scan));
    var stint =
        subscribed.channel().mode() == Mode.EXACTLY_ONCE
            ? new TransactionalClaimLoop(
                subscribed,
                context,
                sessions,
                delivery,
                new TransactionalSettlement(parts),
                suspects,
                cursor,
                keys)
            : new LeaseClaimLoop(
                subscribed,
                context,
                sessions,
                delivery,
                new LeaseSettlement(parts),
                suspects,
                cursor,
                keys);
    var turnstile =
        new Turnstile(
            context.transactions(),
            subscription,
            subscribed.channel().options().maxRate(),
            subscribed.options().batch() > 1);
    this.places = new Places(subscribed, context.threads(), () -> freed(subscribed.goesByKey()));
    this.standby = new Standby(context.threads(), lock, this::look);
    this.overload =
        new Overload(
            context.threads(),
            lock,
            () -> standby.isAlone() || places.isFree(),
            wakefulness::askForHelp);
    this.prospects = new Prospects(tally, keys, System::nanoTime);
    this.workers =
        new Workers(
            context.threads(),
            new DrainParts(
                lock,
                places,
                turnstile,
                prospects,
                keys,
                pace,
                standby,
                overload,
                new Lookout(context.threads(), lock, this::lookOut)),
            stint,
            reports,
            this::isHeldUp,
            this::whenIdle);
  }

  @Override
  public int subscription() {
    return subscription;
  }

  Places places() {
    return places;
  }

  Pausing pausing() {
    return pausing;
  }

  ChannelActivity activity() {
    return locked(
        () ->
            places.activity(
                tally.claims(), tally.emptyClaims(), pausing.known(), definition.difference()));
  }

  private <R> R locked(Supplier<R> work) {
    lock.lock();
    try {
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  /**
   * There may be work. Returns at once; safe on any thread.
   *
   * @param isDue whether scheduled rows are due
   */
  void wake(boolean isDue) {
    wakeNow(isDue && !headStart.isGiven(() -> wakeNow(true)));
  }

  /**
   * The same where keys may have been set free as well. Returns at once; safe on any thread.
   *
   * @param isDue whether scheduled rows are due
   */
  void freed(boolean isDue) {
    hasMissed();
    wake(isDue);
  }

  /** Nobody may have told of keys that were set free: the next look sees to them. */
  void hasMissed() {
    keys.unblocked();
  }

  /** A wake-up for new rows. Returns at once. */
  void heard() {
    standby.heard();
    overload.mayBe();
  }

  /** Another listener, or this one, asks for help. Returns at once. */
  void asked() {
    standby.asked();
  }

  @Override
  public void look() {
    wakeNow(false);
  }

  @Override
  public void keepLooking() {
    lock.lock();
    try {
      if (!tally.hasBegunSince()) {
        wakeNow(false);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean wasBusy() {
    return locked(tally::wasBusySince);
  }

  @Override
  public boolean needsHelp() {
    return locked(() -> prospects.isSomethingNew() && !places.isFree());
  }

  @Override
  public boolean isFirst() {
    return standby.isFirst();
  }

  @Override
  public boolean answersAtOnce() {
    return locked(standby::answersAtOnce);
  }

  /** A worker finds nothing left to do. Called with the lock held. */
  private void whenIdle() {
    lookAtTheWhole();
    // What this process does not find, others may have at work.
    scanSoon.run();
  }

  /** Where that is still to be done. Called with the lock held. */
  private void lookAtTheWhole() {
    if (keys.inUse()) {
      lookIn(keys.fresh().left(), false, looksAgain);
      lookIn(keys.due().left(), true, looksAgainForDue);
    } else {
      lookIn(cursor.left(), false, looksAgain);
    }
  }

  private void lookIn(@Nullable Duration wait, boolean isDue, AtomicBoolean isPlanned) {
    if (wait == null) {
      return;
    }
    if (wait.isZero()) {
      prospects.woken(isDue);
    } else if (isPlanned.compareAndSet(false, true)) {
      context
          .threads()
          .tickLater(
              wait,
              () -> {
                isPlanned.set(false);
                wakeNow(isDue);
              });
    }
  }

  private void wakeNow(boolean isDue) {
    lock.lock();
    try {
      prospects.woken(isDue);
      if (prospects.isNobodyLooking()) {
        workers.join();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void told(Found found, long scan) {
    var changed = definition.told(found.definition());
    if (pausing.told(found.paused(), changed, scan) || changed) {
      goOn();
    }
    if (found.ready() || found.due()) {
      polled(found);
      wake(found.due());
    }
    if (found.awake()) {
      wakefulness.heardAwake();
    }
    standby.told(found.first(), found.listeners());
  }

  private void polled(Found found) {
    if (keys.inUse()) {
      keys.polled(found.listeners());
      lock.lock();
      try {
        pace.polled();
      } finally {
        lock.unlock();
      }
    }
  }

  @Override
  public boolean isHeldUp() {
    return pausing.isOn() || definition.isOutdated();
  }

  /** A pause is over, or the like: looks for what came meanwhile. */
  private void goOn() {
    lock.lock();
    try {
      if (prospects.isSomething() && prospects.isNobodyLooking()) {
        workers.join();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether it is to be called again. Called with the lock held. */
  private boolean lookOut() {
    if (prospects.isSomethingLeftBehind() && prospects.isNobodyLooking()) {
      workers.join();
    }
    overload.lookedOut();
    return !places.isStopping();
  }
}
