package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ScanStatements.Found;
import org.pgonce.internal.deliver.Delivery;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.deliver.Subscribed;
import org.pgonce.internal.settle.Left;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.Settlement;
import org.pgonce.internal.settle.Suspects;

/**
 * Empties one subscription as far as this process can. Wake-ups that come while it is at work are
 * folded into one; a further worker joins only while there is work that the others do not get to.
 */
final class Drain<T> implements Scanned, Wakeful {

  private final Subscribed<T> subscribed;
  private final int subscription;
  private final Context context;
  private final Stint stint;
  private final Turnstile turnstile;
  private final Pausing pausing;
  private final Reports reports;
  private final DefinitionWatch definition;
  private final Wakefulness wakefulness;
  // What this process does not find, others may have at work.
  private final Runnable whenIdle;
  private final Front front = new Front();
  private final Pace pace = new Pace();
  private final HeadStart headStart;
  private final Places places;
  private final AtomicBoolean looksAgain = new AtomicBoolean();

  private final ReentrantLock lock = new ReentrantLock();
  // Those among the workers that have not finished a claim yet: what they do not find,
  // wokenMeanwhile remembers.
  private int looking;
  private boolean wokenMeanwhile;
  private boolean resting;
  // Whether new rows may lie behind those that were claimed, and nobody has looked for them.
  private boolean behind;
  // Whether scheduled rows may be due: then they and new rows take turns.
  private boolean due;
  private boolean dueFirst;
  private final Tally tally = new Tally();
  private final Standby standby;
  private final Overload overload;
  private final Lookout lookout;

  Drain(
      Subscribed<T> subscribed,
      Context context,
      Sessions sessions,
      Scan scan,
      Wakefulness wakefulness) {
    this.wakefulness = wakefulness;
    this.whenIdle = () -> scan.within(Scan.WHILE_SOMETHING_WAITS);
    this.subscribed = subscribed;
    this.subscription = subscribed.installed().subscription();
    this.context = context;
    var delivery = new Delivery<>(subscribed, context.codec(), context.publisher());
    this.headStart = new HeadStart(context.threads());
    this.pausing = new Pausing(subscribed, context.observer());
    this.definition = new DefinitionWatch(subscribed, context.observer());
    this.reports = new Reports(subscribed, context.observer(), scan::within, headStart::give);
    var suspects = new Suspects(subscribed, reports);
    var settlement =
        new Settlement(
            subscribed,
            context.transactions(),
            reports,
            new HandlerPause(subscribed, context, pausing, scan));
    this.stint =
        subscribed.channel().mode() == Mode.EXACTLY_ONCE
            ? new HeldStint(subscribed, context, sessions, delivery, settlement, suspects, front)
            : new LeasedStint(subscribed, context, sessions, delivery, settlement, suspects, front);
    this.turnstile =
        new Turnstile(
            context.transactions(),
            subscription,
            subscribed.channel().options().maxRate(),
            subscribed.options().batch() > 1);
    this.places = new Places(subscribed, context.threads(), () -> wake(subscribed.goesByKey()));
    this.standby = new Standby(context.threads(), lock, this::look);
    this.overload =
        new Overload(
            context.threads(),
            lock,
            () -> standby.isAlone() || places.isFree(),
            wakefulness::callForHelp);
    this.lookout = new Lookout(context.threads(), lock, this::lookOut);
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

  /** A wake-up for new rows. Returns at once. */
  void heard() {
    standby.heard();
    overload.mayBe();
  }

  /** Another listener, or this one, asks all to look. Returns at once. */
  void called() {
    standby.called();
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
    return locked(() -> (behind || wokenMeanwhile) && !places.isFree());
  }

  /** Where that is still to be done. Called with the lock held. */
  private void lookAtTheWhole() {
    var wait = front.left();
    if (wait == null) {
      return;
    }
    if (wait.isZero()) {
      wokenMeanwhile = true;
    } else if (looksAgain.compareAndSet(false, true)) {
      context.threads().tickLater(wait, this::lookAgain);
    }
  }

  private void lookAgain() {
    looksAgain.set(false);
    wakeNow(false);
  }

  private void wakeNow(boolean isDue) {
    lock.lock();
    try {
      wokenMeanwhile = true;
      due |= isDue;
      if (looking == 0) {
        join();
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
      wake(found.due());
    }
    if (found.awake()) {
      wakefulness.heardAwake();
    }
    standby.told(found.first(), found.listeners());
  }

  @Override
  public boolean isHeldUp() {
    return pausing.isOn() || definition.isOutdated();
  }

  /** A pause is over, or the like: looks for what came meanwhile. */
  private void goOn() {
    lock.lock();
    try {
      if ((wokenMeanwhile || behind || due) && looking == 0) {
        join();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether it is to be called again. Called with the lock held. */
  private boolean lookOut() {
    if (behind && looking == 0) {
      join();
    }
    overload.lookedOut();
    return !places.isStopping();
  }

  /** Lets one more worker begin, if there may be one. Called with the lock held. */
  private void join() {
    if (resting || isHeldUp() || !places.isFree()) {
      return;
    }
    var rest = pace.rest();
    if (!rest.isZero()) {
      resting = true;
      var unused = context.threads().runLater(rest, this::rested);
      return;
    }
    var place = places.take();
    if (place != null) {
      looking++;
      var slot = new Slot(place);
      context.threads().run(() -> work(slot));
    }
  }

  private void rested() {
    lock.lock();
    try {
      resting = false;
      if (wokenMeanwhile && looking == 0) {
        pace.rested();
        join();
      }
    } finally {
      lock.unlock();
    }
  }

  private void work(Slot slot) {
    try {
      var wait = turnstile.enter();
      if (wait.isZero()) {
        slot.hasTurn = true;
        stint.work(slot);
      } else {
        restFor(wait);
      }
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked.
      trouble(e);
    } finally {
      slot.leave();
    }
  }

  /** The rate allows no claim for now: whatever there is, it is looked for then. */
  private void restFor(Duration wait) {
    lock.lock();
    try {
      wokenMeanwhile = true;
      if (!resting && !places.isStopping()) {
        resting = true;
        var unused = context.threads().runLater(wait, this::rested);
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
      wokenMeanwhile = true;
      pace.troubled();
    } finally {
      lock.unlock();
    }
    reports.cannotClaim(e);
  }

  /** One worker and what it has looked for. */
  private final class Slot implements Stint.Turns {

    private final Places.Place place;
    private boolean looking = true;
    private boolean askedForDue;
    private boolean answers;
    // Whether the rate allows it one more claim.
    private boolean hasTurn;
    // Whether this worker knows of new rows, or has come to look whether there are.
    private boolean more;
    private long endsBefore;
    private long emptyBefore;
    private long emptyDueBefore;

    /** Called with the lock held. */
    Slot(Places.Place place) {
      this.place = place;
      this.more = behind;
    }

    @Override
    public Places.Place place() {
      return place;
    }

    @Override
    public boolean looks() {
      lock.lock();
      try {
        if (!looking) {
          looking = true;
          Drain.this.looking++;
        }
        hasTurn = false;
        tally.begins();
        overload.begins();
        endsBefore = tally.ends();
        dueFirst = due && !dueFirst;
        askedForDue = dueFirst;
        if (!askedForDue) {
          // Before the claim's snapshot is taken: a wake-up from now on may be for a row that this
          // claim does not see.
          wokenMeanwhile = false;
          answers = standby.begins();
        }
        return askedForDue;
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void found(@Nullable Claim claim, int count) {
      lock.lock();
      try {
        stopLooking();
        pace.claimed(claim != null);
        tally.found(count, askedForDue);
        if (claim != null) {
          emptyBefore = tally.emptyOfNew();
          emptyDueBefore = tally.emptyOfDue();
        }
        if (askedForDue) {
          // Where none is found, those that are left are claimed; the scan tells of others.
          due = claim != null;
        } else {
          behind = claim != null;
          more &= claim != null;
          standby.found(claim != null, answers);
        }
        if (claim == null) {
          turnstile.giveBack(1);
          lookAgainIfOneEnded();
          return;
        }
        if (more || due || wokenMeanwhile) {
          join();
        }
        lookout.begin();
        overload.mayBe();
      } finally {
        lock.unlock();
      }
    }

    /**
     * Where rows wait for one another, this claim may have found none because of one that ended
     * meanwhile: neither that one's worker nor anyone else looks for it then. The other way round,
     * {@link #ended} looks for what others did not get while it was at work: what was stored after
     * the snapshot that tells what is left, and heard of before it was committed, only a claim in
     * vain tells of. Called with the lock held.
     */
    private void lookAgainIfOneEnded() {
      if (subscribed.goesByKey() && tally.ends() != endsBefore) {
        more |= !askedForDue;
        due |= askedForDue;
      }
    }

    @Override
    public int mayClaim(int most) {
      return 1 + turnstile.enterMore(most - 1);
    }

    @Override
    public void notBegun(int count) {
      turnstile.giveBack(count);
    }

    @Override
    public void ended(Left left) {
      lock.lock();
      try {
        tally.ended();
        var byKey = subscribed.goesByKey();
        more = left.more() || (byKey && tally.emptyOfNew() != emptyBefore);
        behind = more;
        due |= left.due() || (byKey && tally.emptyOfDue() != emptyDueBefore);
      } finally {
        lock.unlock();
      }
    }

    @Override
    public boolean isPaused() {
      return isHeldUp();
    }

    @Override
    public boolean mayGoOn() {
      lock.lock();
      try {
        return !places.isStopping()
            && !isHeldUp()
            && (more || due || wokenMeanwhile)
            && (hasTurn = turnstile.enterAtOnce());
      } finally {
        lock.unlock();
      }
    }

    void leave() {
      lock.lock();
      try {
        stopLooking();
        if (hasTurn) {
          turnstile.giveBack(1);
        }
        place.leave();
        overload.left();
        lookAtTheWhole();
        whenIdle.run();
        if ((wokenMeanwhile || more || due) && Drain.this.looking == 0) {
          join();
        }
      } finally {
        lock.unlock();
      }
    }

    private void stopLooking() {
      if (looking) {
        looking = false;
        Drain.this.looking--;
      }
    }
  }
}
