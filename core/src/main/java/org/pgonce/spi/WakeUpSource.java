package org.pgonce.spi;

import java.sql.SQLException;
import java.time.Duration;

/**
 * A way to receive NOTIFY, found by {@link java.util.ServiceLoader}. pgonce brings one over pgjdbc,
 * and its module pgonce-pgjdbc-ng one over pgjdbc-ng. Implementations hold no state and are safe
 * for use by several threads.
 */
public interface WakeUpSource {

  /** How a LISTEN connection shows in {@code pg_stat_activity}. */
  String APPLICATION_NAME = "pgonce listen";

  /** A short stable name for logs and status, for example {@code pgjdbc-ng}. */
  String name();

  /**
   * Opens one connection of its own, outside any pool, on which nothing but LISTEN and the
   * heartbeat runs. pgonce calls it on a thread of its own, waits for no longer than the timeout,
   * and closes a connection that comes up later.
   *
   * @param address where to connect
   * @param callback receives what arrives and the end of the connection, on the source's own
   *     threads
   * @param timeout for connect and authentication together; positive
   * @throws java.sql.SQLFeatureNotSupportedException when this source has no counterpart for one of
   *     the address's properties; another source may
   * @throws SQLException when the server refuses (its SQLState says why) or cannot be reached
   *     (class 08)
   */
  WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
      throws SQLException;

  /** Receives from a {@link WakeUpConnection}. Never blocks, never queries, never throws. */
  interface Callback {

    /**
     * A NOTIFY arrived.
     *
     * @param channel the PostgreSQL channel it was sent on
     * @param payload its payload, empty if it has none
     */
    void notified(String channel, String payload);

    /**
     * The connection has ended other than by {@link WakeUpConnection#close()}. May come late or,
     * when the network is silent, never.
     */
    void lost(String reason);
  }
}
