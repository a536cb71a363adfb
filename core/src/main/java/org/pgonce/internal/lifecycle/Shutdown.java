package org.pgonce.internal.lifecycle;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.consume.SubscriptionConsumer;
import org.pgonce.internal.context.CutOffSessions;
import org.pgonce.internal.gate.NotifyGate;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.listen.NotificationListener;
import org.pgonce.internal.poll.Poll;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a listener ends: no new claims; waits for the handlers that run; then interrupts those that
 * are left and gives their notifications back. Every caller goes the whole way, so the earliest
 * deadline counts. Interrupted, it does not wait for the handlers any longer, but ends all the
 * same.
 */
final class Shutdown {

  private static final Logger LOG = LoggerFactory.getLogger(Shutdown.class);

  // After the deadline the handlers are interrupted and their sessions ended. This is for them to
  // notice, and for the database to be told. With the 3 s of NotificationListener.close the most
  // that it takes beyond the deadline.
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  // Longer than anybody waits, and short enough to be counted in nanoseconds.
  private static final Duration LONGEST = Duration.ofDays(365);

  private final NotificationListener listening;
  private final Poll poll;
  private final FeedWatch feeds;
  private final CutOffSessions sessions;
  private final Threads threads;
  private final List<WorkerSlots> channels = new CopyOnWriteArrayList<>();
  private final List<SubscriptionConsumer<?>> consumers = new CopyOnWriteArrayList<>();
  private final List<NotifyGate> gates = new CopyOnWriteArrayList<>();
  private final AtomicBoolean released = new AtomicBoolean();
  private final FutureTask<?> goodbye = new FutureTask<>(this::tellTheDatabase, null);

  Shutdown(
      NotificationListener listening,
      Poll poll,
      FeedWatch feeds,
      CutOffSessions sessions,
      Threads threads) {
    this.listening = listening;
    this.poll = poll;
    this.feeds = feeds;
    this.sessions = sessions;
    this.threads = threads;
  }

  /** Says who works for a channel. Before the listener starts. */
  void add(WorkerSlots channel) {
    channels.add(channel);
  }

  /** The same of what is stored. */
  void add(SubscriptionConsumer<?> consumer) {
    consumers.add(consumer);
    add(consumer.slots());
  }

  /** Says which gates may be open. Before the listener starts. */
  void add(NotifyGate gate) {
    gates.add(gate);
  }

  /** Returns whether all handlers ended by themselves. */
  boolean within(Duration deadline) throws InterruptedException {
    var end = System.nanoTime() + inNanos(deadline);
    var idle = false;
    try {
      channels.forEach(WorkerSlots::stop);
      consumers.forEach(SubscriptionConsumer::stop);
      gates.forEach(NotifyGate::stop);
      poll.stop();
      feeds.stop();
      // With its LISTEN session goes its rank, as the others see with their next poll.
      listening.close();
      idle = awaitIdle(end);
    } finally {
      if (!idle) {
        release();
      }
      sayGoodbye(System.nanoTime() + LAST_WORDS.toNanos());
    }
    return !released.get();
  }

  private static long inNanos(Duration deadline) {
    if (deadline.isNegative()) {
      return 0;
    }
    return (deadline.compareTo(LONGEST) > 0 ? LONGEST : deadline).toNanos();
  }

  private boolean awaitIdle(long end) throws InterruptedException {
    for (var channel : channels) {
      if (!channel.awaitIdle(end)) {
        return false;
      }
    }
    return true;
  }

  private void release() {
    if (released.compareAndSet(false, true)) {
      LOG.warn(
          "pgonce: workers are still busy when the time to stop is over; handlers are interrupted and their notifications given back");
    }
    channels.forEach(WorkerSlots::release);
  }

  private void sayGoodbye(long end) throws InterruptedException {
    try {
      threads.run(goodbye); // which runs once, whoever comes next
      if (awaitIdle(end)) {
        goodbye.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
    } catch (TimeoutException | ExecutionException | CancellationException e) {
      LOG.debug("pgonce: the database could not be told that the listener has stopped", e);
    } finally {
      goodbye.cancel(true);
      threads.close();
    }
  }

  private void tellTheDatabase() {
    var end = System.nanoTime() + LAST_WORDS.toNanos();
    try {
      sessions.endReleased(end);
      for (var gate : gates) {
        gate.close(end - LAST_WORDS.toNanos() / 2);
      }
      poll.unregister(end);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the time is over
    }
  }
}
