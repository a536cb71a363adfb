package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;

/** One LISTEN connection, which proves with NOTIFYs to itself that notifications arrive. */
final class ListenSession implements WakeUpSource.Callback, AutoCloseable {

  /** A NOTIFY to itself. Any role can send one, so only an unguessable token counts. */
  private record Echo(String token, CompletableFuture<@Nullable Void> arrived) {
    Echo() {
      this(UUID.randomUUID().toString(), new CompletableFuture<>());
    }
  }

  private final WakeUpSource source;
  private final ListenAddress address;
  private final ListenConfig config;
  private final BiConsumer<String, String> wakeUps;
  // Another process that could cause the echo would prove nothing.
  private final String ownChannel = "pgonce_self_" + UUID.randomUUID().toString().replace("-", "");
  // Ends with an exception when the connection is lost, and never otherwise.
  private final CompletableFuture<@Nullable Void> lost = new CompletableFuture<>();
  private volatile Echo expected = new Echo();
  private final BoundedConnection connection;

  /**
   * Connects.
   *
   * @param wakeUps gets channel and payload on the driver's thread
   */
  ListenSession(
      WakeUpSource source,
      ListenAddress address,
      ListenConfig config,
      BiConsumer<String, String> wakeUps)
      throws ListenFailure {
    this.source = source;
    this.address = address;
    this.config = config;
    this.wakeUps = wakeUps;
    try {
      this.connection = BoundedConnection.open(source, address, this, config.connectTimeout());
    } catch (SQLException e) {
      throw ListenFailure.of(address, e);
    }
  }

  ListenStatus.Session describe() {
    return new ListenStatus.Session(source.name(), address, connection.backendPid());
  }

  /** Proves that NOTIFY arrives, then LISTENs on the channels. */
  void listen(Collection<String> channels) throws ListenFailure, InterruptedException {
    try {
      // First alone: a transaction-mode pooler must not keep the LISTEN of all channels.
      connection.listen(List.of(ownChannel), config.echoTimeout());
      if (!(connection.pooled() ? echoOfAnother() : echo(connection))) {
        throw new ListenFailure(
            Kind.POOLER,
            "cannot listen at %s: LISTEN is accepted but no NOTIFY arrives: %s"
                .formatted(address, ListenFailure.POOLER));
      }
      // Not before the proof: a setting must not stay on a backend that others use too.
      // A database or role may have a limit that is shorter than the heartbeat's interval.
      connection.execute(List.of("SET idle_session_timeout = 0"), config.echoTimeout());
      connection.listen(channels, config.echoTimeout());
    } catch (SQLException e) {
      throw ListenFailure.of(address, e);
    }
  }

  /**
   * Waits for the time to the next heartbeat, then sends it and waits for its echo.
   *
   * @throws ListenFailure as soon as the connection is lost, or if the echo does not come in time
   */
  void heartbeat() throws ListenFailure, InterruptedException {
    try {
      if (!arrives(lost, config.heartbeat().toNanos()) && !echo(connection)) {
        throw new ListenFailure(
            Kind.UNREACHABLE,
            "the LISTEN connection to %s fell silent: a NOTIFY to itself did not come back within %d ms (network or server frozen, or UNLISTEN or DISCARD ALL ran on it); it is renewed"
                .formatted(address, config.echoTimeout().toMillis()));
      }
    } catch (SQLException e) {
      throw new ListenFailure(
          Kind.UNREACHABLE,
          "the LISTEN connection to %s was lost (%s); it is renewed"
              .formatted(address, e.getMessage()));
    }
  }

  // In transaction mode a pooler delivers a session's own NOTIFY inside the transaction that sent
  // it. Only a NOTIFY of another session, sent while this one is idle, proves something.
  private boolean echoOfAnother() throws SQLException, InterruptedException {
    try (var other =
        BoundedConnection.open(source, address, new Ignore(), config.connectTimeout())) {
      return echo(other);
    }
  }

  private boolean echo(BoundedConnection sender) throws SQLException, InterruptedException {
    var end = System.nanoTime() + config.echoTimeout().toNanos();
    var echo = new Echo();
    expected = echo;
    sender.notify(ownChannel, echo.token(), config.echoTimeout());
    return arrives(CompletableFuture.anyOf(echo.arrived(), lost), end - System.nanoTime());
  }

  /** Returns false after the time; throws if the connection is lost before. */
  private static boolean arrives(CompletableFuture<?> what, long nanos)
      throws SQLException, InterruptedException {
    try {
      what.get(nanos, TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      var reason = Objects.requireNonNull(e.getCause()).getMessage();
      throw new SQLException(reason, "08006", e);
    }
  }

  @Override
  public void notified(String channel, String payload) {
    var echo = expected;
    if (!channel.equals(ownChannel)) {
      NotificationListener.guarded(() -> wakeUps.accept(channel, payload));
    } else if (payload.equals(echo.token())) {
      echo.arrived().complete(null);
    }
  }

  @Override
  public void lost(String reason) {
    lost.completeExceptionally(new SQLException(reason));
  }

  /** Returns within a second. */
  @Override
  public void close() {
    connection.close();
  }

  /** For a connection that only sends: the pooler may give it the session that LISTENs. */
  private static final class Ignore implements WakeUpSource.Callback {
    @Override
    public void notified(String channel, String payload) {}

    @Override
    public void lost(String reason) {}
  }
}
