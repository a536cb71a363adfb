package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;

/** One connection that is made to prove, again and again, that NOTIFY arrives on it. */
final class ListenSession implements WakeUpSource.Callback, AutoCloseable {

  private final WakeUpSource source;
  private final ListenAddress address;
  private final String ownChannel;
  private final Set<String> channels;
  private final NotificationListener.Callback callback;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private @Nullable String lost;
  private @Nullable String echoed;
  private long tokens;
  private volatile boolean open = true;
  private volatile @Nullable BoundedConnection connection;

  /**
   * @param ownChannel where it NOTIFYs itself; nobody else's, or an echo would prove nothing
   */
  ListenSession(
      WakeUpSource source,
      ListenAddress address,
      String ownChannel,
      Set<String> channels,
      NotificationListener.Callback callback) {
    this.source = source;
    this.address = address;
    this.ownChannel = ownChannel;
    this.channels = channels;
    this.callback = callback;
  }

  /** Whether the source could connect: what fails then is not its fault. */
  boolean connected() {
    return connection != null;
  }

  ListenStatus.Session describe() {
    var current = connection;
    return new ListenStatus.Session(
        source.name(), address, current == null ? 0 : current.backendPid());
  }

  /** Connects, proves that NOTIFY arrives, and LISTENs. */
  void open(ListenConfig config) throws ListenFailure {
    try {
      var opened = BoundedConnection.open(source, address, this, config.connectTimeout());
      connection = opened;
      if (!open) { // closed meanwhile, by a close that did not see the connection yet
        opened.close();
        throw new SQLException("the listener is closed", "08003");
      }
      // First alone: a pooler that drops LISTEN shall not keep all the channels of it.
      opened.listen(List.of(ownChannel), config.echoTimeout());
      if (!(opened.pooled() ? echoOfAnother(config) : echo(opened, config.echoTimeout()))) {
        throw ListenFailure.pooler(address);
      }
      // Not before: never on a session that a pooler lends to others.
      opened.execute(List.of(ListenSql.NO_IDLE_TIMEOUT), config.echoTimeout());
      opened.listen(channels, config.echoTimeout());
    } catch (SQLException e) {
      throw ListenFailure.of(address, e);
    }
  }

  /**
   * Waits for the time to the next heartbeat.
   *
   * @throws ListenFailure as soon as the connection is lost
   */
  void await(Duration time) throws ListenFailure, InterruptedException {
    lock.lock();
    try {
      long left = time.toNanos();
      while (lost == null && left > 0) {
        left = changed.awaitNanos(left);
      }
      if (lost != null) {
        throw ListenFailure.lost(address, lost);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * NOTIFYs itself.
   *
   * @throws ListenFailure if the echo does not come in time
   */
  void heartbeat(Duration timeout) throws ListenFailure {
    var current = connection;
    try {
      if (current == null || !echo(current, timeout)) {
        throw ListenFailure.silent(address, timeout);
      }
    } catch (SQLException e) {
      throw ListenFailure.lost(address, e.getMessage());
    }
  }

  // In transaction mode a pooler gives the echo of a session's own NOTIFY back inside that very
  // transaction. Only what another session sends while this one is idle proves something.
  private boolean echoOfAnother(ListenConfig config) throws SQLException {
    try (var other =
        BoundedConnection.open(source, address, new Ignore(), config.connectTimeout())) {
      return echo(other, config.echoTimeout());
    }
  }

  private boolean echo(BoundedConnection sender, Duration timeout) throws SQLException {
    long end = System.nanoTime() + timeout.toNanos();
    var token = Long.toString(++tokens);
    sender.notify(ownChannel, token, timeout);
    lock.lock();
    try {
      while (!token.equals(echoed)) { // anybody can NOTIFY; only what was sent last counts
        if (lost != null) {
          throw new SQLException(lost, "08006");
        }
        long left = end - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        var unused = changed.awaitNanos(left);
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SQLException("waiting for the echo was interrupted", "08006", e);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void notified(String channel, String payload) {
    if (!open) {
      return;
    }
    if (channel.equals(ownChannel)) {
      change(() -> echoed = payload);
    } else if (channels.contains(channel)) {
      callback.notified(channel, payload);
    }
  }

  @Override
  public void lost(String reason) {
    change(() -> lost = reason);
  }

  private void change(Runnable change) {
    lock.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Ends it within about a second; what arrives from now on is dropped. */
  @Override
  public void close() {
    open = false;
    var current = connection;
    if (current != null) {
      current.close();
    }
  }

  /** For a connection that only sends. */
  private static final class Ignore implements WakeUpSource.Callback {
    @Override
    public void notified(String channel, String payload) {}

    @Override
    public void lost(String reason) {}
  }
}
