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
   * @throws SQLException as for {@link #listen}
   */
  void notify(String channel, String payload, Duration deadline) throws SQLException;

  /**
   * Process id of the server's backend for this session, to be found again in {@code
   * pg_stat_activity}.
   */
  int backendPid();

  /**
   * Ends the connection. Returns within a second even if the peer is frozen; idempotent; never
   * throws.
   */
  @Override
  void close();
}
