package org.pgonce.internal.broadcast;

import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.broadcast.BroadcastAssembly.Message;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.consume.DefinitionWatch;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Delivery;
import org.pgonce.internal.handle.NewerVersionException;
import org.pgonce.internal.handle.OwnTransaction;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.TooDeepException;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.handle.WorkerSlots.Cause;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.poll.PollAnswer;
import org.pgonce.internal.poll.PollTarget;
import org.pgonce.internal.settle.Reports;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles what is broadcast on one channel. Nothing is stored, so nothing is retried, and a poll
 * only says how the channel is defined.
 */
public final class BroadcastReceiver implements PollTarget {

  private static final Logger LOG = LoggerFactory.getLogger(BroadcastReceiver.class);

  // What may wait for a handler; what comes beyond is dropped, and said.
  private static final int MAX_WAITING = 10_000;
  private static final int MAX_WAITING_MEBI = 64;

  private final Registration<?> subscribed;
  private final ListenerContext context;
  private final Delivery<?> delivery;
  private final BroadcastAssembly assembly = new BroadcastAssembly();
  private final BlockingQueue<Message> waiting = new ArrayBlockingQueue<>(MAX_WAITING);
  private final AtomicLong waitingCharacters = new AtomicLong();
  private final AtomicLong received = new AtomicLong();
  private final DefinitionWatch definition;
  private final WorkerSlots slots;
  private final Reports reports;

  public BroadcastReceiver(Registration<?> subscribed, ListenerContext context) {
    this.subscribed = subscribed;
    this.context = context;
    this.delivery = new Delivery<>(subscribed, context);
    this.reports = new Reports(subscribed, context.observer(), within -> {});
    this.definition = new DefinitionWatch(subscribed, context.observer());
    this.slots = new WorkerSlots(subscribed, context.threads(), this::join);
  }

  /** A NOTIFY came. Called by the one thread that listens; returns at once. */
  public void heard(String payload) {
    if (definition.isOutdated()) {
      return;
    }
    try {
      var message = assembly.add(payload);
      if (message != null && !slots.isStopping()) {
        if (enqueue(message)) {
          join();
        } else {
          reports.dropped(
              "more than %d messages, or %d Mi characters of them, wait for its handlers"
                  .formatted(MAX_WAITING, MAX_WAITING_MEBI));
        }
      }
    } catch (UnreadablePayloadException e) {
      reports.dropped(String.valueOf(e.getMessage()));
    }
  }

  /** Called by the one thread that listens: nobody else lets the queue grow. */
  private boolean enqueue(Message message) {
    long characters = message.payload().length();
    if (waiting.remainingCapacity() == 0
        || waitingCharacters.get() + characters > MAX_WAITING_MEBI * 1024L * 1024) {
      return false;
    }
    waitingCharacters.addAndGet(characters);
    return waiting.offer(message);
  }

  private @Nullable Message next() {
    var message = waiting.poll();
    if (message != null) {
      waitingCharacters.addAndGet(-message.payload().length());
    }
    return message;
  }

  public WorkerSlots slots() {
    return slots;
  }

  @Override
  public int subscription() {
    return subscribed.installed().subscription();
  }

  @Override
  public void polled(PollAnswer answer, long poll) {
    var unused = definition.polled(answer.definition());
  }

  @Override
  public ChannelActivity activity() {
    return slots.activity(received.get(), 0, null, definition.difference());
  }

  private void join() {
    var slot = slots.take();
    if (slot != null) {
      context.threads().run(() -> work(slot));
    }
  }

  private void work(WorkerSlots.Slot slot) {
    try {
      for (var message = next(); message != null; message = next()) {
        if (!handle(message, slot)) {
          return;
        }
      }
    } finally {
      slot.leave();
      // One may have come between the last poll and the leaving, and found no free slot.
      if (!waiting.isEmpty()) {
        join();
      }
    }
  }

  /** Handles one message; false if this worker's slot is lost. */
  private boolean handle(Message message, WorkerSlots.Slot slot) {
    var origin = new NotificationHeaders(null, null, null, message.depth(), message.version());
    var transaction =
        new OwnTransaction(
            context,
            "broadcast " + message.id() + " of channel " + subscribed.label(),
            origin,
            subscribed.options().handlerTimeout(),
            // No other process takes a broadcast over. The server notices within a second that the
            // connection of a handler that was cut off is closed (PoolSettings.CLIENT_CHECK).
            null);
    try (transaction) {
      if (!slot.begin(cause -> cutOff(transaction, cause))) {
        waiting.clear(); // The listener stops.
        return false;
      }
      received.incrementAndGet();
      var report = deliver(message, origin, transaction, slot);
      if (!slot.end()) {
        transaction.cutOff(); // the thread that settles the cut-off may not have got to it yet
        return false;
      }
      report.run();
    } finally {
      transaction.complete();
    }
    return true;
  }

  /** Runs the handler and commits; returns what reports that. */
  private Runnable deliver(
      Message message,
      NotificationHeaders origin,
      OwnTransaction transaction,
      WorkerSlots.Slot slot) {
    var begun = System.nanoTime();
    try {
      boolean handled;
      try {
        reports.claimed(message.id(), 1, Duration.ZERO);
        handled = delivery.run(message.id(), origin, message.payload(), transaction.tx());
      } finally {
        Thread.interrupted(); // what the handler left: the commit must not meet it
      }
      if (slot.isCutOff()) {
        return () -> {}; // it may have returned for its interrupt, half-way
      }
      transaction.commit();
      var inHandler = Duration.ofNanos(System.nanoTime() - begun);
      return () -> reports.settled(message.id(), 1, Duration.ZERO, handled, inHandler);
    } catch (UnreadablePayloadException | NewerVersionException | TooDeepException e) {
      return () -> reports.dropped(String.valueOf(e.getMessage()));
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, costs this message and not its worker.
      LOG.debug("pgonce: the failure in full", failure);
      var words = Failures.inWords(failure);
      return () -> reports.dropped("its handler failed: " + words);
    }
  }

  private void cutOff(OwnTransaction transaction, Cause cause) {
    transaction.cutOff();
    reports.dropped(
        cause == Cause.STOP
            ? "the listener stopped before its handler returned"
            : "its handler did not return within %d ms"
                .formatted(subscribed.options().handlerTimeout().toMillis()));
  }
}
