package org.pgonce.internal.jdbc;

import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

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

  /** Sets it for the transaction: a column of a select list. A shorter one of the session stays. */
  public static final String COLUMN =
      """
      pg_catalog.set_config('client_connection_check_interval',
        CASE WHEN pg_catalog.current_setting('client_connection_check_interval') OPERATOR(pg_catalog.<>) '0'
              AND pg_catalog.current_setting('client_connection_check_interval')::pg_catalog.interval
                  OPERATOR(pg_catalog.<) INTERVAL '1 second'
          THEN pg_catalog.current_setting('client_connection_check_interval') ELSE '1s' END, true)""";

  private static final String INVALID_PARAMETER_VALUE = "22023";

  // The texts are constants of this library, so they are few.
  private static final Map<String, String> WITHOUT = new ConcurrentHashMap<>();

  private ClientCheck() {}

  /**
   * Whether the server's platform has no such check: Windows, and with PostgreSQL 14 whatever is
   * not Linux. The message is in the server's language, but it names the setting.
   */
  static boolean isRefusedBy(SQLException failure) {
    return INVALID_PARAMETER_VALUE.equals(failure.getSQLState())
        && String.valueOf(failure.getMessage()).contains("client_connection_check_interval");
  }

  /** The same statement for a server that refuses {@link #COLUMN}. */
  static String without(String sql) {
    return WITHOUT.computeIfAbsent(sql, checked -> checked.replace(COLUMN, "'0'"));
  }
}
