package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.pgonce.Mode;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.KeyCursors;
import org.pgonce.internal.context.BoundedSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.gate.GatedSubscription;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.poll.PollAnswer;
import org.pgonce.internal.poll.PollTarget;
import org.pgonce.internal.settle.LeaseSettlement;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.TransactionalSettlement;

/**
 * Consumes one subscription in this process: what is heard and polled goes to the {@link
 * FetchTrigger}, which lets workers begin, as many as the concurrency allows. Thread-safe.
 */
public final class SubscriptionConsumer<T> implements PollTarget, GatedSubscription {

  private final int subscription;
  private final ListenerContext context;
  private final Pausing pausing;
  private final DefinitionWatch definition;
  private final ClaimCursor cursor = new ClaimCursor();
  private final KeyCursors keys;
  private final WorkerSlots slots;
  private final RateLimiter rate;
  private final Reports reports;

  private final ReentrantLock lock = new ReentrantLock();
  private final ClaimCounts counts = new ClaimCounts();
  private final FetchTrigger trigger;
  private final ParkedWorker parked = new ParkedWorker(lock);
  private final WaitingWorker workers;

  public SubscriptionConsumer(
      Registration<T> subscribed, ListenerContext context, BoundedSessions sessions, Poll poll) {
    this.subscription = subscribed.installed().subscription();
    this.context = context;
    this.keys = KeyCursors.create(subscribed.goesByKey());
    this.pausing = new Pausing(subscribed, context.observer());
    this.definition = new DefinitionWatch(subscribed, context.observer());
    this.reports = new Reports(subscribed, context.observer(), poll::within, this::metNewerVersion);
    this.slots =
        new WorkerSlots(subscribed, context.threads(), () -> freed(subscribed.goesByKey()));
    this.rate =
        new RateLimiter(
            context.transactions(),
            subscription,
            subscribed.channel().options().maxRate(),
            subscribed.options().batch() > 1);
    this.trigger =
        new FetchTrigger(
            context.threads()::tickLater, lock, System::nanoTime, keys, this::beginWorker);
    var claims = claims(subscribed, sessions, poll);
    this.workers = new WaitingWorker(context.threads(), lock, worker -> worker.work(claims));
  }

  private ClaimLoop claims(Registration<T> subscribed, BoundedSessions sessions, Poll poll) {
    var delivery = new Delivery<>(subscribed, context.codec(), context.publisher());
    var pauser = new HandlerPause(subscribed, context, pausing, poll);
    return subscribed.channel().mode() == Mode.EXACTLY_ONCE
        ? new TransactionalClaimLoop(
            subscribed,
            context,
            sessions,
            delivery,
            new TransactionalSettlement(subscribed, context.transactions(), reports, pauser),
            cursor,
            keys)
        : new LeaseClaimLoop(
            subscribed,
            context,
            sessions,
            delivery,
            new LeaseSettlement(subscribed, context.transactions(), reports, pauser),
            cursor,
            keys);
  }

  /** Lets one more worker begin, if there may be one. Called with the lock held. */
  private void beginWorker() {
    if (isHeldUp()) {
      return;
    }
    var next = parked.unpark();
    if (next != null) {
      next.goesOn();
      return;
    }
    var slot = slots.take();
    if (slot != null) {
      workers.run(new ClaimWorker(this, slot));
    }
  }

  ReentrantLock lock() {
    return lock;
  }

  FetchTrigger trigger() {
    return trigger;
  }

  ParkedWorker parked() {
    return parked;
  }

  ClaimCounts counts() {
    return counts;
  }

  KeyCursors keys() {
    return keys;
  }

  RateLimiter rate() {
    return rate;
  }

  public WorkerSlots slots() {
    return slots;
  }

  /**
   * A wake-up says that it is paused, or otherwise not to be claimed from. Returns within which
   * time a poll is to say whether that is so.
   *
   * @param polls how many polls have begun
   */
  public Duration heardPause(long polls) {
    return pausing.heardPause(polls);
  }

  /** A wake-up says that it is not paused any more; see {@link #heardPause}. */
  public Duration heardResume() {
    return pausing.heardResume();
  }

  boolean mayClaim() {
    return !slots.isStopping() && !isHeldUp();
  }

  public ChannelActivity activity() {
    return locked(
        () ->
            slots.activity(
                counts.claims(), counts.empty(), pausing.known(), definition.difference()));
  }

  private <R> R locked(Supplier<R> work) {
    lock.lock();
    try {
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  private void locked(Runnable work) {
    lock.lock();
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  /** A wake-up for new rows came. Returns at once. */
  public void notified() {
    locked(trigger::notified);
  }

  /** Rows, or keys, may have been set free of which nobody says more. Returns at once. */
  public void freed(boolean isDue) {
    hasMissed();
    locked(() -> trigger.request(isDue ? FetchTrigger.Reason.DUE : FetchTrigger.Reason.GATE));
  }

  /** Nobody may have said which keys were set free: the next claims look for them. */
  public void hasMissed() {
    keys.unblocked();
  }

  private void metNewerVersion() {
    locked(trigger()::metNewerVersion);
  }

  /** The rate allows no claim for so long. */
  void restFor(Duration wait) {
    locked(() -> trigger.rest(wait));
  }

  /** The database, not a notification, is in trouble. */
  void troubled(Exception e) {
    if (slots.isStopping()) {
      return;
    }
    locked(trigger::troubled);
    reports.cannotClaim(e);
  }

  /** No worker begins from now on; those at work go on. */
  public void stop() {
    slots.stop();
    locked(
        () -> {
          parked.stop();
          workers.stop();
        });
  }

  @Override
  public int subscription() {
    return subscription;
  }

  @Override
  public long cursor() {
    return cursor.after();
  }

  @Override
  public void polled(PollAnswer answer, long poll) {
    var changed = definition.told(answer.definition());
    var resumed = pausing.told(answer.paused(), changed, poll);
    if (answer.ready() || answer.due()) {
      keys.polled(answer.listeners());
    }
    lock.lock();
    try {
      trigger.ranked(answer.rank());
      if (answer.ready()) {
        cursor.polled();
        trigger.request(FetchTrigger.Reason.POLLED);
      }
      if (answer.due()) {
        trigger.request(FetchTrigger.Reason.DUE);
      }
      if (resumed || changed) {
        trigger.beginIfWanted();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void fetch() {
    locked(() -> trigger.request(FetchTrigger.Reason.GATE));
  }

  @Override
  public void keepFetching() {
    lock.lock();
    try {
      if (!counts.hasBegunSince()) {
        trigger.request(FetchTrigger.Reason.GATE);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean wasBusy() {
    return locked(counts::wasBusySince);
  }

  @Override
  public boolean answersAtOnce() {
    return trigger.answersAtOnce();
  }

  @Override
  public boolean isHeldUp() {
    return pausing.isOn() || definition.isOutdated();
  }
}
