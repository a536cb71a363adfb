package org.pgonce.spi;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;

/**
 * One open LISTEN connection. Its methods are called by one supervising thread at a time, {@link
 * #close()} by any. The holder keeps a strong reference for as long as it wants to hear.
 */
public interface WakeUpConnection extends AutoCloseable {

  /**
   * LISTENs on the channels, beside those it already listens on. When it returns, each NOTIFY that
   * commits from now on is heard for as long as the connection lives.
   *
   * @param channels PostgreSQL channel names, taken to the letter (quoted as identifiers), at most
   *     63 bytes each
   * @param deadline bound for the whole call; positive
   * @throws SQLException when the server refuses, the connection is dead, or the deadline passes
   *     (SQLState 08006); the connection is then to be closed
   */
  void listen(Collection<String> channels, Duration deadline) throws SQLException;

  /**
   * Sends a NOTIFY over this connection. The holder LISTENs on the channel itself and takes the
   * echo as proof that this very session still hears. The echo comes through {@link
   * WakeUpSource.Ear#heard} in its own time.
   *
   * @param deadline bound for the call; positive
   * @return {@link System#nanoTime()} just before it was sent, so that a wait for the connection's
   *     turn does not count as the network's
   * @throws SQLException as for {@link #listen}
   */
  long notify(String channel, String payload, Duration deadline) throws SQLException;

  /**
   * Exempts the session from {@code idle_session_timeout}: a LISTEN session rests for longer than
   * most databases allow. Called once, when the connection has proved that it hears, so never on a
   * session that a pooler lends to others.
   *
   * @param deadline bound for the call; positive
   * @throws SQLException as for {@link #listen}
   */
  void exemptFromIdleTimeout(Duration deadline) throws SQLException;

  /**
   * Process id of the backend that answered when the connection was opened, as the backend itself
   * says it, to be found again in {@code pg_stat_activity}.
   */
  int backendPid();

  /**
   * Whether something between hands out process ids of its own, as a connection pooler does. An
   * echo of a NOTIFY to oneself then proves nothing: in transaction mode it comes back inside the
   * transaction that sent it, while nothing that comes later is ever heard.
   */
  boolean pooled();

  /**
   * Ends the connection. Returns within about a second even if the peer is frozen; idempotent;
   * never throws. Calls of the other methods that are under way end with an SQLException.
   */
  @Override
  void close();
}
