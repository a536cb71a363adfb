package org.pgonce.internal.claim;

import org.pgonce.internal.jdbc.PoolSettings;

/**
 * The texts of a claim, which are made once: a driver looks its statements up by their text.
 *
 * <p>The plan goes by the index because the tables hold padding rows (keep_padding in
 * sql/maintenance.sql). Columns of the inner select would be computed for rows that are passed over
 * too. Operators are qualified since the search path is the application's.
 *
 * @param first reads the session first
 * @param later knows the session
 * @param behindCommit the same behind a commit, in a transaction that it begins
 * @param alone knows the session, for a driver that sends one command at a time
 * @param isOne whether it claims one row: all but the last one set the handler's savepoint then
 */
record ClaimSql(String first, String later, String behindCommit, String alone, boolean isOne) {

  // held is who locked the row before: nobody, or a transaction that did not commit.
  static final String COLUMNS =
      """
      c.id, c.attempts, c.created_at, c.due_at, pg_catalog.clock_timestamp() AS claimed_at,
      CASE WHEN pg_catalog.pg_column_size(c.payload) OPERATOR(pg_catalog.<=) %d THEN c.payload END AS payload,
      c.delivery_key, c.order_key, c.context, c.stamp, c.token, c.held"""
          .formatted(Payload.SHORT);

  // The session's bounds. Each function costs the server its look-up with each claim, even where it
  // is not called.
  private static final String BOUNDS =
      """
      , pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true),
      pg_catalog.set_config('client_connection_check_interval', ?, true)""";
  private static final String BOUNDS_ONCE =
      """
      , (SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true)),
      (SELECT pg_catalog.set_config('client_connection_check_interval', ?, true))""";

  /**
   * Makes them.
   *
   * @param rows the select that locks the rows, with the columns of {@link #COLUMNS}
   * @param more further columns, each with a comma before it
   */
  static ClaimSql of(String rows, boolean isOne, String more) {
    var select = "SELECT " + COLUMNS + more;
    var bounds = isOne ? BOUNDS : BOUNDS_ONCE;
    var from = " FROM (" + rows + ") AS c";
    var later = select + bounds + ready(NotificationHeaders.COLUMNS_OF_ROW_IF_ANY, from, isOne);
    return new ClaimSql(
        ClaimSession.READ + "; " + select + ready(NotificationHeaders.COLUMNS_OF_ROW, from, isOne),
        later,
        "COMMIT; " + PoolSettings.BEGIN_IN_MODES + "; " + later,
        select + bounds + from,
        isOne);
  }

  private static String ready(String columns, String from, boolean isOne) {
    return isOne ? ",\n" + columns + from + "; " + HandlerSavepoint.SET : from;
  }
}
