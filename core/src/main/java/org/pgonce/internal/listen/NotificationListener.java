package org.pgonce.internal.listen;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one LISTEN connection for a process: connects, proves by a NOTIFY to itself that
 * notifications arrive, notices when they no longer do, and connects again. Without an address or a
 * source it says so and ends: the owner polls anyway.
 *
 * <p>Safe for use by several threads. Owns one daemon thread, and the source's while connected.
 */
public final class NotificationListener implements AutoCloseable {

  /**
   * Called back. {@code notified} comes on the driver's thread and must return at once: put a token
   * in a queue, never query, never block. The others come on the thread of this object.
   */
  public interface Callback {

    /** A NOTIFY on one of the channels. Only a hint: it can be lost, folded or forged. */
    void notified(String channel, String payload);

    /**
     * From now on wake-ups arrive. Called each time that LISTEN (again) succeeded and proved
     * itself: what was committed before is found by a poll now.
     */
    void listening();

    /** No wake-up arrives. Called when that begins, and when the reason changes. */
    void disconnected(ListenFailure failure);
  }

  private static final Duration CLOSE_BOUND = Duration.ofSeconds(2);
  private static final Logger log = LoggerFactory.getLogger(NotificationListener.class);

  private final ListenLoop loop;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final AtomicBoolean started = new AtomicBoolean();
  private volatile @Nullable Thread thread;

  /**
   * @param sources in the order in which they are tried; empty for polling only
   * @param channels PostgreSQL channel names, to the letter
   * @throws IllegalArgumentException if a channel name is empty, over 63 bytes, or has a NUL
   */
  public NotificationListener(
      List<WakeUpSource> sources,
      AddressLookup addresses,
      ListenConfig config,
      Set<String> channels,
      Callback callback) {
    channels.forEach(ListenSql::listen); // a name that cannot be is refused here, not later
    this.loop = new ListenLoop(sources, addresses, config, channels, new Guarded(callback));
  }

  /** Begins to listen, in the background. May be called once. */
  public void start() {
    if (!started.compareAndSet(false, true)) {
      throw new IllegalStateException("the listener was started or closed before; make a new one");
    }
    thread =
        DaemonThread.start(
            "pgonce-listen",
            () -> {
              try {
                loop.run();
              } finally {
                ended.countDown();
              }
            });
  }

  /**
   * Waits for the first attempt to end, well or badly: with it a wrong password or database shows
   * at start.
   *
   * @return how it stands then, or when the bound has passed
   */
  public ListenStatus awaitFirstAttempt(Duration bound) throws InterruptedException {
    loop.awaitFirstAttempt(bound);
    return status();
  }

  /** How it stands now; never waits. */
  public ListenStatus status() {
    return loop.status();
  }

  /**
   * Ends the connection and the thread. Returns within about 3 s even if the peer is frozen;
   * idempotent.
   */
  @Override
  public void close() {
    var neverStarted = started.compareAndSet(false, true);
    loop.close();
    var running = thread;
    if (neverStarted || running == null || running == Thread.currentThread()) {
      return;
    }
    running.interrupt();
    try {
      ended.await(CLOSE_BOUND.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A callback's mistake must end neither the loop nor a thread of the driver. */
  private record Guarded(Callback callback) implements Callback {

    @Override
    public void notified(String channel, String payload) {
      guard(() -> callback.notified(channel, payload));
    }

    @Override
    public void listening() {
      guard(callback::listening);
    }

    @Override
    public void disconnected(ListenFailure failure) {
      guard(() -> callback.disconnected(failure));
    }

    private static void guard(Runnable call) {
      try {
        call.run();
      } catch (RuntimeException e) {
        log.error("a callback of the listener threw; listening goes on", e);
      }
    }
  }
}
