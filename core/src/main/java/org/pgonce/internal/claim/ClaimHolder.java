package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;

/**
 * The session that holds a claimed row.
 *
 * @param backendPid its server process
 * @param claimedAt when it claimed, by the database's clock
 * @param idleTimeout its idle_in_transaction_session_timeout outside the claim's transaction
 */
public record ClaimHolder(int backendPid, Instant claimedAt, String idleTimeout) {

  // The one transaction that was open there at the time of the claim is the claim's own: a process
  // id is given out again, and behind a transaction pooler the process serves others meanwhile.
  private static final String END =
      """
      SELECT pg_catalog.pg_terminate_backend(a.pid)
        FROM pg_catalog.pg_stat_activity AS a
       WHERE a.pid OPERATOR(pg_catalog.=) ? AND a.xact_start OPERATOR(pg_catalog.<=) ?::pg_catalog.text::pg_catalog.timestamptz
      """;

  /**
   * Ends the session if it still is in the claim's transaction, and leaves the caller's transaction
   * as it was. Best effort: where the role may not, the row is locked until the session notices by
   * itself.
   *
   * @throws SQLException if the caller's own connection fails
   */
  public void end(Connection transaction) throws SQLException {
    BackendTerminator.run(
        transaction, "server process " + backendPid, () -> terminate(transaction));
  }

  private void terminate(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(END)) {
      statement.setInt(1, backendPid);
      statement.setString(2, claimedAt.toString());
      statement.execute();
    }
  }
}
