package org.pgonce.internal.broadcast;

import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.broadcast.BroadcastAssembly.Message;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.HandlerTx;
import org.pgonce.internal.handle.NewerVersionException;
import org.pgonce.internal.handle.OwnTransaction;
import org.pgonce.internal.handle.PayloadReader;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.store.HandlerDepth;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles what is broadcast on one channel while this process is up. Nothing is stored, so nothing
 * is retried.
 */
public final class BroadcastReceiver<T> {

  private static final Logger LOG = LoggerFactory.getLogger(BroadcastReceiver.class);

  // The driver's own bound is later than the handler's deadline, which knows what it cuts off.
  private static final Duration LEEWAY = Duration.ofSeconds(30);

  /** Messages that may wait for a handler; what comes beyond is dropped, and told. */
  static final int MAX_WAITING = 10_000;

  private final Registration<T> subscribed;
  private final ListenerContext context;
  private final PayloadReader<T> reader;
  private final BroadcastAssembly assembly = new BroadcastAssembly();
  private final BlockingQueue<Message> waiting = new ArrayBlockingQueue<>(MAX_WAITING);
  private final AtomicLong received = new AtomicLong();
  private final WorkerSlots slots;

  public BroadcastReceiver(Registration<T> subscribed, ListenerContext context) {
    this.subscribed = subscribed;
    this.context = context;
    this.reader = new PayloadReader<>(subscribed.channel(), context.codec());
    this.slots = new WorkerSlots(subscribed, context.threads(), this::join);
  }

  /** A NOTIFY came. Called on the one thread that hears; returns at once. */
  public void heard(String payload) {
    try {
      var message = assembly.add(payload);
      if (message != null && !slots.isStopping()) {
        if (waiting.offer(message)) {
          join();
        } else {
          dropped("more than " + MAX_WAITING + " wait for its handlers");
        }
      }
    } catch (UnreadablePayloadException e) {
      dropped(String.valueOf(e.getMessage()));
    }
  }

  public WorkerSlots slots() {
    return slots;
  }

  /**
   * What it does.
   *
   * @param outdated why it is not heard any more; null if it is
   */
  public ChannelActivity activity(@Nullable String outdated) {
    return slots.activity(received.get(), 0, null, outdated);
  }

  private void join() {
    var slot = slots.take();
    if (slot != null) {
      context.threads().run(() -> work(slot));
    }
  }

  private void work(WorkerSlots.Slot slot) {
    try {
      for (var message = waiting.poll(); message != null; message = waiting.poll()) {
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
    var begun = System.nanoTime();
    var longestCall = LEEWAY.plus(subscribed.options().handlerTimeout());
    var origin = NotificationHeaders.ofBroadcast(message.depth(), message.version());
    var token = UUID.randomUUID().toString();
    try (var transaction =
        new OwnTransaction(
            context,
            longestCall,
            "broadcast " + message.id() + " of channel " + subscribed.label(),
            origin,
            subscribed.options().handlerTimeout(),
            token)) {
      if (!slot.begin(new End(transaction, token))) {
        waiting.clear(); // The listener stops.
        return false;
      }
      received.incrementAndGet();
      var outcome = outcome(message, origin, transaction);
      if (!slot.end()) {
        transaction.cutOff(); // whoever does that may not have got to it yet
        return false;
      }
      if (outcome.failure() != null) {
        dropped(outcome.failure());
      } else if (outcome.handled()) {
        context
            .observer()
            .handled(
                subscribed.name(),
                message.id(),
                1,
                Duration.ZERO,
                Duration.ofNanos(System.nanoTime() - begun));
      } else {
        context.observer().skipped(subscribed.name(), message.id(), 1);
      }
    } catch (SQLException e) {
      LOG.debug("pgonce: after a broadcast its connection could not be given back as it came", e);
    }
    return true;
  }

  /** What a handler's failure is in words, or whether it was run. */
  private record Outcome(@Nullable String failure, boolean handled) {}

  /** Runs the handler and commits. */
  private Outcome outcome(Message message, NotificationHeaders origin, OwnTransaction transaction) {
    try {
      var payload = reader.read(message.id(), origin.version(), message.payload());
      var notification = subscribed.notification(message.id(), 1, null, origin, payload);
      var tx = new HandlerTx(transaction::connection, context.publisher());
      var handled = HandlerDepth.within(origin.depth(), () -> subscribed.handle(notification, tx));
      transaction.commit();
      return new Outcome(null, handled);
    } catch (UnreadablePayloadException | NewerVersionException e) {
      return new Outcome(String.valueOf(e.getMessage()), false);
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, costs this message and not its worker.
      LOG.debug("pgonce: the failure in full", failure);
      return new Outcome("its handler failed: " + Failures.inWords(failure), false);
    }
  }

  private final class End implements WorkerSlots.CutOff {

    private final OwnTransaction transaction;
    private final String token;

    End(OwnTransaction transaction, String token) {
      this.transaction = transaction;
      this.token = token;
    }

    @Override
    public void overran(Duration timeout) {
      transaction.cutOff();
      if (transaction.isUsed()) {
        endSession(token);
      }
      dropped("its handler did not return within " + timeout.toMillis() + " ms");
    }

    @Override
    public void released() {
      transaction.cutOff();
      dropped("the listener stopped before its handler returned");
    }
  }

  /** The server goes on with its statement, and keeps its locks. */
  private void endSession(String token) {
    try {
      context.transactions().make(transaction -> HandlerSession.end(transaction, token));
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: a session of channel {} that is given up could not be ended ({}); what it has locked stays locked until the server notices",
          subscribed.label(),
          Failures.inWords(e));
      LOG.debug("pgonce: the failure in full", e);
    }
  }

  private void dropped(String reason) {
    LOG.warn("pgonce: a broadcast of channel {} is dropped here: {}", subscribed.name(), reason);
    context.observer().broadcastDropped(subscribed.name(), reason);
  }
}
