package org.pgonce.internal.jdbc;

/**
 * Has the server check once a second, while a statement runs or waits for a lock, whether its
 * client is still connected ({@code client_connection_check_interval}). Without it the session of a
 * killed process keeps its row until the statement ends. The check sees a closed connection, not a
 * silent network.
 *
 * <p>PostgreSQL arms the check when a command begins: the setting holds for the commands behind the
 * one that sets it, also in the same message.
 */
public final class ClientCheck {

  /**
   * Sets it for the transaction: a column of a select list. A shorter one of the session stays.
   * Windows refuses it, and so does PostgreSQL 14 on whatever is not Linux.
   */
  public static final String COLUMN =
      """
      pg_catalog.set_config('client_connection_check_interval',
        CASE WHEN pg_catalog.version() OPERATOR(pg_catalog.!~~) '%linux%'
               OR (pg_catalog.current_setting('client_connection_check_interval') OPERATOR(pg_catalog.<>) '0'
                   AND pg_catalog.current_setting('client_connection_check_interval')::pg_catalog.interval
                     OPERATOR(pg_catalog.<) INTERVAL '1 second')
          THEN pg_catalog.current_setting('client_connection_check_interval') ELSE '1s' END, true)""";

  private ClientCheck() {}
}
