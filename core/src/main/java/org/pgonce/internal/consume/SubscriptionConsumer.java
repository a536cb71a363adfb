package org.pgonce.internal.consume;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.poll.PollAnswer;
import org.pgonce.internal.poll.PollTarget;
import org.pgonce.internal.settle.Pausing;
import org.pgonce.internal.settle.Reports;

/**
 * Consumes one subscription in this process: wake-ups and polls go to the {@link FetchTrigger},
 * which lets workers begin, as many as the concurrency allows. Thread-safe.
 */
public final class SubscriptionConsumer implements PollTarget {

  final FetchTrigger trigger;
  final ClaimCursors cursors;
  // Null where the channel has no rate.
  final @Nullable RateLimiter rate;
  final Reports reports;
  final Poll poll;
  private final int subscription;
  private final ListenerContext context;
  private final Pausing pausing;
  private final DefinitionWatch definition;
  private final WorkerSlots slots;
  private final ClaimLoop loop;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition called = lock.newCondition();
  private @Nullable ClaimWorker waiting;

  public SubscriptionConsumer(Registration<?> subscribed, ListenerContext context, Poll poll) {
    this.subscription = subscribed.installed().subscription();
    this.context = context;
    this.poll = poll;
    this.cursors = ClaimCursors.create(subscribed.goesByKey());
    this.pausing = new Pausing(subscribed, context.instance(), context.observer(), poll::begun);
    this.definition = new DefinitionWatch(subscribed, context.observer());
    this.reports = new Reports(subscribed, context.observer(), poll::within);
    this.slots =
        new WorkerSlots(subscribed, context.threads(), () -> freed(subscribed.goesByKey()));
    var maxRate = subscribed.channel().options().maxRate();
    this.rate =
        maxRate == ChannelOptions.NO_MAX_RATE
            ? null
            : new RateLimiter(
                context.transactions(), subscription, maxRate, subscribed.options().batch() > 1);
    this.trigger =
        new FetchTrigger(
            (delay, tick) -> {
              var unused = context.threads().tickLater(delay, () -> withLock(tick));
            },
            System::nanoTime,
            cursors,
            this::beginWorker);
    this.loop = ClaimLoop.of(subscribed, context, cursors, reports, pausing);
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
    return locked(
        () -> {
          if (waiting != null || slots.isStopping()) {
            return false;
          }
          waiting = worker;
          try {
            var left = longest.toNanos();
            while (waiting == worker && !slots.isStopping() && left > 0) {
              left = called.awaitNanos(left);
            }
          } catch (InterruptedException closed) {
            Thread.currentThread().interrupt(); // a claim fails at once then
          }
          var isCalled = waiting != worker;
          waiting = isCalled ? waiting : null;
          return isCalled;
        });
  }

  public WorkerSlots slots() {
    return slots;
  }

  public Duration heardPause() {
    return pausing.heardPause();
  }

  @Override
  public ChannelActivity activity() {
    return locked(
        () ->
            slots.activity(
                trigger.claims(), trigger.emptyClaims(), pausing.known(), definition.difference()));
  }

  <R> R locked(Supplier<R> work) {
    lock.lock();
    try {
      return work.get();
    } finally {
      lock.unlock();
    }
  }

  void withLock(Runnable work) {
    lock.lock();
    try {
      work.run();
    } finally {
      lock.unlock();
    }
  }

  public void notified() {
    withLock(trigger::notified);
    if (!trigger.answersAtOnce()) {
      poll.somethingWaits();
    }
  }

  /** Rows, or keys, may have been set free. Returns at once. */
  public void freed(boolean isDue) {
    forgetBlockedKeys();
    withLock(() -> trigger.request(isDue ? FetchTrigger.Reason.DUE : FetchTrigger.Reason.NEW));
    // Claims may pass over the key: a walk over all keys rests, or two claims meet at it.
    poll.somethingWaits();
  }

  /** Wake-ups may have been missed that say which keys are free: the next claims look for them. */
  public void forgetBlockedKeys() {
    cursors.unblocked();
  }

  void troubled(Throwable e) {
    if (slots.isStopping()) {
      return;
    }
    withLock(trigger::troubled);
    reports.cannotClaim(e);
  }

  /** No worker begins from now on; those at work go on. */
  public void stop() {
    slots.stop();
    withLock(called::signalAll);
  }

  @Override
  public int subscription() {
    return subscription;
  }

  @Override
  public int workers() {
    return slots.most();
  }

  @Override
  public long cursor() {
    return cursors.fresh().after();
  }

  @Override
  public void polled(PollAnswer answer, long poll) {
    var changed = definition.polled(answer.definition());
    var resumed = pausing.polled(answer.paused(), poll);
    if (answer.ready() || answer.due()) {
      cursors.polled(answer.ready(), answer.listeners());
    }
    withLock(
        () -> {
          trigger.ranked(answer.rank());
          if (answer.ready()) {
            trigger.request(FetchTrigger.Reason.POLLED);
          }
          if (answer.due()) {
            trigger.request(FetchTrigger.Reason.DUE);
          }
          if (resumed || changed) {
            trigger.beginIfWanted();
          }
        });
  }

  /** Claims new rows as soon as may be, unless a claim has begun since the last call. */
  public void fetch() {
    withLock(
        () -> {
          if (!trigger.takeHasBegun()) {
            trigger.request(FetchTrigger.Reason.NEW);
          }
        });
  }

  /** Whether new rows kept coming since the last call. */
  public boolean takeBusy() {
    return locked(trigger::takeBusy);
  }

  public boolean answersAtOnce() {
    return trigger.answersAtOnce();
  }

  /** Whether nothing of it may be claimed for now. */
  public boolean isHeldUp() {
    return pausing.isOn() || definition.isOutdated();
  }
}
