package org.pgonce.internal.deliver;

import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.Context;
import org.pgonce.internal.deliver.BroadcastAssembly.Message;
import org.pgonce.internal.settle.Failures;
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

  private final Subscribed<T> subscribed;
  private final Context context;
  private final BroadcastAssembly assembly = new BroadcastAssembly();
  private final BlockingQueue<Message> waiting = new ArrayBlockingQueue<>(MAX_WAITING);
  private final AtomicInteger working = new AtomicInteger();
  private final AtomicLong handled = new AtomicLong();
  private volatile boolean stopping;

  public BroadcastReceiver(Subscribed<T> subscribed, Context context) {
    this.subscribed = subscribed;
    this.context = context;
  }

  /** A NOTIFY came. Called on the one thread that hears; returns at once. */
  public void heard(String payload) {
    try {
      var message = assembly.add(payload);
      if (message != null && !stopping) {
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

  /** No handler begins from now on. */
  public void stop() {
    stopping = true;
    waiting.clear();
  }

  public ChannelActivity activity() {
    return new ChannelActivity(
        subscribed.name(), subscribed.channel().mode(), working.get(), 0, handled.get(), 0);
  }

  private void join() {
    var others = working.get();
    while (others < subscribed.options().concurrency()) {
      if (working.compareAndSet(others, others + 1)) {
        context.threads().run(this::work);
        return;
      }
      others = working.get();
    }
  }

  private void work() {
    try {
      for (var message = waiting.poll(); message != null && !stopping; message = waiting.poll()) {
        handle(message);
      }
    } finally {
      working.decrementAndGet();
      // One may have come between the last poll and the decrement, and found no free place.
      if (!waiting.isEmpty()) {
        join();
      }
    }
  }

  private void handle(Message message) {
    var begun = System.nanoTime();
    handled.incrementAndGet();
    try (var transaction =
        new OwnTransaction(context, LEEWAY.plus(subscribed.options().handlerTimeout()))) {
      var deadline =
          new Deadline.Bound(subscribed.options().handlerTimeout(), context.threads())
              .begin(transaction::abort);
      try {
        var payload = context.codec().decode(message.payload(), subscribed.channel().payloadType());
        var notification = subscribed.notification(message.id(), 1, null, payload);
        subscribed
            .handler()
            .handle(notification, new HandlerTx(transaction::connection, context.publisher()));
        transaction.commit();
      } finally {
        deadline.end();
      }
      context
          .observer()
          .handled(
              subscribed.name(),
              message.id(),
              1,
              Duration.ZERO,
              Duration.ofNanos(System.nanoTime() - begun));
    } catch (UnreadablePayloadException e) {
      dropped(String.valueOf(e.getMessage()));
    } catch (Throwable failure) {
      // Whatever a handler throws, Errors included, costs this message and not its worker.
      dropped("its handler failed: " + Failures.inWords(failure));
      LOG.debug("pgonce: the failure in full", failure);
    }
  }

  private void dropped(String reason) {
    LOG.warn("pgonce: a broadcast of channel {} is dropped here: {}", subscribed.name(), reason);
    context.observer().broadcastDropped(subscribed.name(), reason);
  }
}
