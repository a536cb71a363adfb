package org.pgonce.internal.wakeup;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.WakeUpSource;

/**
 * Keeps one LISTEN connection for a process: connects, proves by a NOTIFY to itself that it hears,
 * notices when it no longer does, and connects again. Without an address or a source it stands
 * still and says so: the owner polls anyway.
 *
 * <p>Safe for use by several threads. Owns one daemon thread, and the source's while connected.
 */
public final class Hearing implements AutoCloseable {

  /**
   * What the owner is told. {@code heard} comes on the driver's thread and must return at once: put
   * a token in a queue, never query, never block. The others come on the thread of this object.
   */
  public interface Sink {

    /** A NOTIFY on one of the channels. Only a hint: it can be lost, folded or forged. */
    void heard(String channel, String payload);

    /**
     * From now on wake-ups are heard. Called each time that LISTEN (again) succeeded and proved
     * itself: what was committed before is found by a full scan now.
     */
    void listening();

    /** Wake-ups are not heard. Called when it begins, and when the reason changes. */
    void deaf(Deafness deafness);
  }

  private static final Duration CLOSE_BOUND = Duration.ofSeconds(2);

  private final Supervisor supervisor;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final AtomicBoolean started = new AtomicBoolean();
  private volatile @Nullable Thread thread;

  /**
   * @param sources in the order in which they are tried; empty for polling only
   * @param address asked anew for each connect, so that a rotated password is picked up
   * @param channels PostgreSQL channel names, to the letter
   * @throws IllegalArgumentException if a channel name is empty, over 63 bytes, or has a NUL
   */
  public Hearing(
      List<WakeUpSource> sources,
      Supplier<AddressLookup> address,
      HearingConfig config,
      Set<String> channels,
      Sink sink) {
    channels.forEach(ListenSql::listen); // a name that cannot be is refused here, not later
    var guarded = new GuardedSink(sink);
    this.supervisor =
        new Supervisor(
            new Connecting(new SourceChoice(sources), config, Set.copyOf(channels), guarded),
            address,
            config,
            guarded);
  }

  /** Begins to listen, in the background. May be called once. */
  public void start() {
    if (!started.compareAndSet(false, true)) {
      throw new IllegalStateException("hearing was started or closed before; make a new one");
    }
    thread =
        DaemonThread.start(
            "pgonce-hearing",
            () -> {
              try {
                supervisor.run();
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
  public HearingStatus awaitFirstAttempt(Duration bound) throws InterruptedException {
    supervisor.awaitFirstAttempt(bound);
    return status();
  }

  /** How it stands now; never waits. */
  public HearingStatus status() {
    return supervisor.status();
  }

  /**
   * Ends the connection and the thread. Returns within about 3 s even if the peer is frozen;
   * idempotent.
   */
  @Override
  public void close() {
    var neverStarted = started.compareAndSet(false, true);
    supervisor.close();
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
}
