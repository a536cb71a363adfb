package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;

/** One connection that is made to prove, again and again, that it hears. */
final class HearingSession implements WakeUpSource.Ear {

  private final WakeUpSource source;
  private final ListenAddress address;
  private final String selfChannel;
  private final Set<String> channels;
  private final Hearing.Sink sink;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private @Nullable String lost;
  private @Nullable String awaited;
  private long heardAt;
  private long tokens;
  private long firstEcho;
  private volatile boolean open = true;
  private volatile @Nullable WakeUpConnection connection;

  HearingSession(
      WakeUpSource source,
      ListenAddress address,
      String selfChannel,
      Set<String> channels,
      Hearing.Sink sink) {
    this.source = source;
    this.address = address;
    this.selfChannel = selfChannel;
    this.channels = channels;
    this.sink = sink;
  }

  ListenAddress address() {
    return address;
  }

  /** 0 until it is connected. */
  int backendPid() {
    var current = connection;
    return current == null ? 0 : current.backendPid();
  }

  HearingStatus.Session describe() {
    return new HearingStatus.Session(source.name(), address, backendPid(), firstEcho);
  }

  /** Connects, proves that the session hears, and LISTENs. */
  void begin(HearingConfig config) throws SQLException {
    var opened = source.open(address, this, config.connectTimeout());
    connection = opened;
    if (!open) { // closed meanwhile, by a close that did not see the connection yet
      opened.close();
      throw new SQLException("hearing was closed", "08003");
    }
    // First alone: a pooler that drops LISTEN shall not keep all the channels of it.
    opened.listen(List.of(selfChannel), config.echoDeadline());
    firstEcho = opened.pooled() ? fromOutside(config) : fromItself(opened, config.echoDeadline());
    if (firstEcho < 0) {
      throw new Deafness.Found(Diagnosis.pooler(address));
    }
    opened.exemptFromIdleTimeout(config.echoDeadline());
    opened.listen(channels, config.echoDeadline());
  }

  /** One heartbeat. Returns how long the echo took, negative if it did not come. */
  long beat(Duration deadline) throws SQLException {
    var current = connection;
    if (current == null) {
      throw new SQLException("no connection", "08003");
    }
    return fromItself(current, deadline);
  }

  /**
   * Waits until the connection is lost, this thread is interrupted, or the time is over.
   *
   * @return why it was lost, or null
   */
  @Nullable String awaitLoss(Duration time) throws InterruptedException {
    lock.lock();
    try {
      long left = time.toNanos();
      while (lost == null && left > 0) {
        left = changed.awaitNanos(left);
      }
      return lost;
    } finally {
      lock.unlock();
    }
  }

  private long fromItself(WakeUpConnection current, Duration within) throws SQLException {
    var deadline = Deadline.in(within);
    var token = expect();
    return awaitEcho(current.notify(selfChannel, token, within), deadline);
  }

  // In transaction mode a pooler gives the echo of a session's own NOTIFY back inside that very
  // transaction. Only what another session sends while this one rests proves that it hears.
  private long fromOutside(HearingConfig config) throws SQLException {
    try (var other = source.open(address, new DeafEar(), config.connectTimeout())) {
      var deadline = Deadline.in(config.echoDeadline());
      var token = expect();
      return awaitEcho(other.notify(selfChannel, token, config.echoDeadline()), deadline);
    }
  }

  private String expect() {
    lock.lock();
    try {
      tokens++;
      awaited = Long.toString(tokens);
      return awaited;
    } finally {
      lock.unlock();
    }
  }

  private long awaitEcho(long sent, Deadline deadline) throws SQLException {
    lock.lock();
    try {
      while (awaited != null) {
        if (lost != null) {
          throw new SQLException(lost, "08006");
        }
        long left = deadline.remaining().toNanos();
        if (left <= 0 || !changed.await(left, TimeUnit.NANOSECONDS)) {
          return awaited == null ? heardAt - sent : -1;
        }
      }
      return heardAt - sent;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SQLException("waiting for the echo was interrupted", "08006", e);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void heard(String channel, String payload) {
    if (!open) {
      return;
    }
    if (channel.equals(selfChannel)) {
      echo(payload);
    } else if (channels.contains(channel)) {
      sink.heard(channel, payload);
    }
  }

  private void echo(String token) {
    long now = System.nanoTime();
    lock.lock();
    try {
      if (token.equals(awaited)) { // anybody can NOTIFY here; only what was sent last counts
        awaited = null;
        heardAt = now;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void lost(String reason) {
    lock.lock();
    try {
      if (lost == null) {
        lost = reason;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends it within about a second; what is heard from now on is dropped. */
  void close() {
    open = false;
    var current = connection;
    if (current != null) {
      current.close();
    }
  }

  /** For a connection that only speaks. */
  private static final class DeafEar implements WakeUpSource.Ear {
    @Override
    public void heard(String channel, String payload) {}

    @Override
    public void lost(String reason) {}
  }
}
