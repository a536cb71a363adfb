package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.jdbc.ClientCheck;

/**
 * The session that holds a claimed row, and what bounds its hold. The claim gives its transaction
 * an {@code idle_in_transaction_session_timeout}: the server ends the session of a process that is
 * frozen or cut off, for neither tells it that the client is gone. And it has the server watch for
 * the end of the process while a statement runs: see {@link ClientCheck}.
 *
 * @param backendPid its server process
 * @param claimedUs when it claimed, microseconds since 1970 by the database's clock
 * @param idleTimeout its idle_in_transaction_session_timeout outside the claim's transaction
 * @param transactionId of the claim's transaction, as 64 bits
 */
public record ClaimHolder(
    int backendPid, long claimedUs, String idleTimeout, String transactionId) {

  /** What a session may idle beyond the handler's time: by then the process itself has ended it. */
  private static final Duration LEEWAY = Duration.ofSeconds(5);

  /**
   * Arguments of the claim's concat_ws. Both parameters are how long, in milliseconds, the session
   * may idle in this transaction; a shorter bound of the server's, the role's or the pool's own
   * stays. The old value comes first: arguments are evaluated in their order. Each function costs
   * the server its look-up with each claim, also where it is not called, so the case that is rare
   * is a function of its own.
   */
  static final String COLUMNS =
      """
      pg_catalog.pg_backend_pid(),
      pg_catalog.current_setting('idle_in_transaction_session_timeout'),
      CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout') OPERATOR(pg_catalog.=) '0'
        THEN pg_catalog.set_config('idle_in_transaction_session_timeout', ?, true)
        ELSE pgonce.bound_idle(?)::pg_catalog.text END,
      %s,
      pg_catalog.pg_current_xact_id()"""
          .formatted(ClientCheck.COLUMN);

  /** How many values {@link #COLUMNS} has. */
  static final int VALUES = 5;

  // Of one that has ended, and lately. Takes no right.
  private static final String STATUS =
      "SELECT pg_catalog.pg_xact_status(?::pg_catalog.text::pg_catalog.xid8)";

  // The one transaction that was open there at the time of the claim is the claim's own: a process
  // id is given out again, and behind a transaction pooler the process serves others meanwhile.
  private static final String END =
      """
      SELECT pg_catalog.pg_terminate_backend(a.pid)
        FROM pg_catalog.pg_stat_activity AS a
       WHERE a.pid = ? AND a.xact_start <= TIMESTAMPTZ 'epoch' + ? * INTERVAL '1 microsecond'
      """;

  /** Of the values of {@link #COLUMNS}. */
  static ClaimHolder of(String[] values, long claimedUs) {
    return new ClaimHolder(Integer.parseInt(values[0]), claimedUs, values[1], values[4]);
  }

  /** Binds the parameters of {@link #COLUMNS}, of which the first one has this number. */
  static void bind(PreparedStatement statement, int first, Duration handlerTimeout)
      throws SQLException {
    var bound = idleBoundMs(handlerTimeout);
    statement.setString(first, String.valueOf(bound));
    statement.setLong(first + 1, bound);
  }

  /** How long the session may idle in the transaction of a claim, in milliseconds. */
  static long idleBoundMs(Duration handlerTimeout) {
    return handlerTimeout.plus(LEEWAY).toMillis();
  }

  /**
   * Ends the session if it still is in the claim's transaction, and leaves the caller's transaction
   * as it was. Best effort: where the role may not, the row is locked until the session notices by
   * itself.
   *
   * @throws SQLException if the caller's own connection fails
   */
  public void end(Connection transaction) throws SQLException {
    SessionEnd.in(transaction, "server process " + backendPid, () -> terminate(transaction));
  }

  /** Whether the claim's transaction, which has ended, was committed. */
  public boolean isCommitted(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(STATUS)) {
      statement.setString(1, transactionId);
      try (var row = statement.executeQuery()) {
        return row.next() && "committed".equals(row.getString(1));
      }
    }
  }

  private void terminate(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(END)) {
      statement.setInt(1, backendPid);
      statement.setLong(2, claimedUs);
      statement.execute();
    }
  }
}
