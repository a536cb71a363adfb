package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.KeyCursors;
import org.pgonce.internal.context.CutOffSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.gate.GatedSubscription;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.poll.PollAnswer;
import org.pgonce.internal.poll.PollTarget;
import org.pgonce.internal.settle.LeaseSettlement;
import org.pgonce.internal.settle.Pausing;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.TransactionalSettlement;

/**
 * Consumes one subscription in this process: wake-ups and polls go to the {@link FetchTrigger},
 * which lets workers begin, as many as the concurrency allows. Thread-safe.
 */
public final class SubscriptionConsumer<T> implements PollTarget, GatedSubscription {

  final ReentrantLock lock = new ReentrantLock();
  final FetchTrigger trigger;
  final KeyCursors keys;
  final RateLimiter rate;
  private final int subscription;
  private final ListenerContext context;
  private final Pausing pausing;
  private final DefinitionWatch definition;
  private final ClaimCursor cursor = new ClaimCursor();
  private final WorkerSlots slots;
  private final Reports reports;
  private final ClaimLoop loop;

  private final Condition called = lock.newCondition();
  private @Nullable ClaimWorker waiting;

  public SubscriptionConsumer(
      Registration<T> subscribed, ListenerContext context, CutOffSessions sessions, Poll poll) {
    this.subscription = subscribed.installed().subscription();
    this.context = context;
    this.keys = KeyCursors.create(subscribed.goesByKey());
    this.pausing = new Pausing(subscribed, context.instance(), context.observer(), poll::begun);
    this.definition = new DefinitionWatch(subscribed, context.observer());
    this.reports = new Reports(subscribed, context.observer(), poll::within);
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
    this.loop = loop(subscribed, sessions);
  }

  private ClaimLoop loop(Registration<T> subscribed, CutOffSessions sessions) {
    var parts =
        new ClaimLoop.Parts(
            subscribed,
            context,
            sessions,
            new Delivery<>(subscribed, context.codec(), context.publisher()),
            cursor,
            keys);
    return subscribed.channel().mode() == Mode.EXACTLY_ONCE
        ? new TransactionalClaimLoop(
            parts,
            new TransactionalSettlement(subscribed, context.transactions(), reports, pausing))
        : new LeaseClaimLoop(
            parts, new LeaseSettlement(subscribed, context.transactions(), reports, pausing));
  }

  /** Lets one more worker begin, if there may be one. Called with the lock held. */
  private void beginWorker() {
    var worker = waiting == null ? new ClaimWorker(this, loop) : waiting;
    if (isHeldUp() || !worker.starts()) {
      return;
    }
    if (worker == waiting) {
      waiting = null;
      called.signalAll();
    } else {
      context.threads().run(worker);
    }
  }

  /**
   * Has the worker wait until {@link #beginWorker} calls it; false if that does not come in time.
   * One worker of a subscription waits. For others, and when the listener stops, it is false at
   * once.
   */
  boolean awaitCall(ClaimWorker worker, Duration longest) {
    lock.lock();
    try {
      if (waiting != null || slots.isStopping()) {
        return false;
      }
      waiting = worker;
      try {
        for (var left = longest.toNanos(); waiting == worker && !slots.isStopping() && left > 0; ) {
          left = called.awaitNanos(left);
        }
      } catch (InterruptedException closed) {
        Thread.currentThread().interrupt(); // a claim fails at once then
      }
      var isCalled = waiting != worker;
      waiting = isCalled ? waiting : null;
      return isCalled;
    } finally {
      lock.unlock();
    }
  }

  public WorkerSlots slots() {
    return slots;
  }

  /** As {@link Pausing#heardPause}. */
  public Duration heardPause() {
    return pausing.heardPause();
  }

  boolean mayClaim() {
    return !slots.isStopping() && !isHeldUp();
  }

  public ChannelActivity activity() {
    lock.lock();
    try {
      var counts = trigger.counts();
      return slots.activity(
          counts.claims(), counts.empty(), pausing.known(), definition.difference());
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

  /** Rows, or keys, may have been set free. Returns at once. */
  public void freed(boolean isDue) {
    hasMissed();
    locked(() -> trigger.request(isDue ? FetchTrigger.Reason.DUE : FetchTrigger.Reason.GATE));
  }

  /** Wake-ups may have been missed that say which keys are free: the next claims look for them. */
  public void hasMissed() {
    keys.unblocked();
  }

  /** No claim begins for so long. */
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
    locked(called::signalAll);
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
    var resumed = pausing.told(answer.paused(), poll);
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
    lock.lock();
    try {
      if (!trigger.counts().hasBegunSince()) {
        trigger.request(FetchTrigger.Reason.GATE);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean wasBusy() {
    lock.lock();
    try {
      return trigger.counts().wasBusySince();
    } finally {
      lock.unlock();
    }
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
