package org.pgonce.internal.claim;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.pgonce.internal.jdbc.PoolSettings;

/**
 * The text of a claim.
 *
 * <p>Its plan goes by the index because the tables hold padding rows (keep_padding in
 * sql/maintenance.sql). Columns of the inner select would be computed for rows that are passed over
 * too. Operators are qualified since the search path is the application's.
 *
 * @param rows the select that locks the rows, with the columns of {@link #COLUMNS}
 * @param isOne whether that is one row: the handler's savepoint is set in the same message then,
 *     where the driver can send several commands in one
 * @param more further columns, each with a comma before it
 */
record ClaimSql(String rows, boolean isOne, String more, Map<Form, String> texts) {

  /** Which commands a claim has in its message. */
  enum Form {
    /** Reads the session first. */
    FIRST,
    /** Knows the session. */
    LATER,
    /** The same behind a commit, in a transaction that it begins. */
    BEHIND_COMMIT,
    /** As LATER, where the driver sends one command at a time. */
    ALONE
  }

  // held is who locked the row before: nobody, or a transaction that did not commit.
  static final String COLUMNS =
      """
      c.id, c.attempts, c.created_at, pg_catalog.clock_timestamp() AS claimed_at,
      CASE WHEN pg_catalog.pg_column_size(c.payload) OPERATOR(pg_catalog.<=) %d THEN c.payload END AS payload,
      c.delivery_key, c.order_key, c.context, c.stamp, c.token, c.held"""
          .formatted(Payload.SHORT);

  // The session's bounds. Each function costs the server its look-up with each claim, even where it
  // is not called.
  private static final String BOUNDS =
      """
      pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true),
      pg_catalog.set_config('client_connection_check_interval', ?, true)""";
  private static final String BOUNDS_ONCE =
      """
      (SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true)),
      (SELECT pg_catalog.set_config('client_connection_check_interval', ?, true))""";

  ClaimSql(String rows, boolean isOne, String more) {
    this(rows, isOne, more, new ConcurrentHashMap<>());
  }

  /** Made once: a driver looks its statements up by their text. */
  String text(Form form) {
    return texts.computeIfAbsent(form, this::make);
  }

  /** Whether the claim sets the handler's savepoint. */
  boolean isReady(Form form) {
    return isOne && form != Form.ALONE;
  }

  private String make(Form form) {
    var text = new StringBuilder();
    if (form == Form.FIRST) {
      text.append(ClaimSession.READ).append("; ");
    } else if (form == Form.BEHIND_COMMIT) {
      text.append("COMMIT; ").append(PoolSettings.BEGIN_IN_MODES).append("; ");
    }
    text.append("SELECT ").append(COLUMNS).append(more);
    if (form != Form.FIRST) {
      text.append(",\n").append(isOne ? BOUNDS : BOUNDS_ONCE);
    }
    if (isReady(form)) {
      text.append(",\n").append(NotificationHeaders.COLUMNS_OF_ROW);
    }
    text.append(" FROM (").append(rows).append(") AS c");
    if (isReady(form)) {
      text.append("; ").append(HandlerSavepoint.SET);
    }
    return text.toString();
  }
}
