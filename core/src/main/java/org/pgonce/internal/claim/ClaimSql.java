package org.pgonce.internal.claim;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.pgonce.internal.jdbc.PoolSettings;

/**
 * The text of a claim.
 *
 * <p>Its plan goes by the index because the tables hold padding rows (keep_padding in
 * sql/maintenance.sql). The outer select is for the rows that are locked; columns of the inner one
 * would be computed for each row that is passed over. Operators are qualified since the session's
 * search path is whatever the application makes it.
 *
 * @param rows the select that locks them, with the columns of {@link #COLUMNS}
 * @param isOne whether that is one row: it is set up for its handler at once, where the driver can
 *     send several commands in one message; that saves the handler's first statement a round trip
 * @param more columns behind those, each with a comma before it
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

  // held is who locked the row before: nobody, or someone whose transaction did not commit. A
  // payload that is longer where it is stored, be it compressed (by 1 to 255 at most), is fetched
  // by its attempt.
  static final String COLUMNS =
      """
      c.id, c.attempts, c.created_at, pg_catalog.clock_timestamp() AS claimed_at,
      CASE WHEN pg_catalog.pg_column_size(c.payload) OPERATOR(pg_catalog.<=) %d THEN c.payload END AS payload,
      c.delivery_key, c.order_key, c.context, c.stamp, c.token, c.held"""
          .formatted(Payload.SHORT);

  ClaimSql(String rows, boolean isOne, String more) {
    this(rows, isOne, more, new ConcurrentHashMap<>());
  }

  ClaimSql(String rows, boolean isOne) {
    this(rows, isOne, "");
  }

  /** Made once: a driver looks its statements up by their text. */
  String text(Form form) {
    return texts.computeIfAbsent(form, this::make);
  }

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
      text.append(",\n").append(isOne ? ClaimSession.BOUNDS : ClaimSession.BOUNDS_ONCE);
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
