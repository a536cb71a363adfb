package org.pgonce.spi;

import java.sql.SQLException;
import java.time.Duration;

/**
 * A way to hear NOTIFY. pgonce brings two, pgjdbc-ng and pgjdbc; polling alone is the absence of
 * one. Implementations hold no state and are safe for use by several threads.
 */
public interface WakeUpSource {

  /** A short stable name for logs and status, for example {@code pgjdbc-ng}. */
  String name();

  /**
   * Opens one connection of its own, outside any pool, on which nothing but LISTEN and the
   * heartbeat runs.
   *
   * <p>Blocks the calling thread for at most {@code deadline}, whatever the network does; a
   * connection that comes up later than that is closed in the background and never leaks.
   *
   * <p>If the calling thread is interrupted, throws at once, with the interrupt flag set again.
   *
   * @param address where to connect
   * @param ear receives what is heard and the end of the connection; called from the source's own
   *     threads
   * @param deadline bound for connect and authentication together; positive
   * @throws java.sql.SQLFeatureNotSupportedException when this source has no counterpart for one of
   *     the address's properties; another source may
   * @throws SQLException when the server refuses (its SQLState says why), cannot be reached, or the
   *     deadline passes (SQLState 08001)
   */
  WakeUpConnection open(ListenAddress address, Ear ear, Duration deadline) throws SQLException;

  /**
   * Receives from a {@link WakeUpConnection}. Methods are called on threads that also serve others
   * (driver I/O threads), so they must return at once: put a token in a queue and do nothing else,
   * never query, never block.
   */
  interface Ear {

    /**
     * A NOTIFY arrived.
     *
     * @param channel the PostgreSQL channel it was sent on
     * @param payload its payload, empty if it has none
     */
    void heard(String channel, String payload);

    /**
     * The connection has ended other than by {@link WakeUpConnection#close()}. May come late or,
     * when the network is silent, never.
     */
    void lost(String reason);
  }
}
