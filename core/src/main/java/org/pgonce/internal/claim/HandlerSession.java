package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionState;
import org.pgonce.internal.jdbc.Statements;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server session that a handler works in, and how it is ended when its handler is given up. Of
 * a claim in EXACTLY_ONCE it holds the row. What ends a handler that overruns: {@code WorkerSlots}.
 *
 * <p>The session of a leased notification or a broadcast has no claim in its transaction. Its first
 * statement bounds how long it may idle, so that its locks are released if its process freezes or
 * is cut off, and marks it with the token of its lease by an advisory lock.
 *
 * @param backendPid its server process
 * @param idleTimeout its idle_in_transaction_session_timeout outside the transaction
 * @param settings its settings, where the claim has set the handler's savepoint too; else null
 */
public record HandlerSession(int backendPid, String idleTimeout, @Nullable SessionState settings) {

  private static final Logger LOG = LoggerFactory.getLogger(HandlerSession.class);

  // Columns are computed in their order. The lock is shared and only tried: nobody waits for it.
  private static final String BEGIN =
      """
      SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle, pg_catalog.pg_backend_pid() AS pid, %s AS modes,
             pgonce.bound_idle(?)::pg_catalog.text,
             %s,
             pg_catalog.pg_try_advisory_xact_lock_shared(pg_catalog.hashtextextended(?::pg_catalog.text, 0))
      """
          .formatted(PoolSettings.COLUMN, PoolSettings.CLIENT_CHECK);

  // How pg_locks shows the two halves of the lock's number.
  private static final String END_BY_TOKEN =
      """
      SELECT pg_catalog.pg_terminate_backend(l.pid)
        FROM pg_catalog.pg_locks AS l, pg_catalog.hashtextextended(?, 0) AS k (mark)
       WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
         AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
         AND l.classid = ((k.mark >> 32) & 4294967295)::pg_catalog.oid AND l.objid = (k.mark & 4294967295)::pg_catalog.oid
         AND l.pid <> pg_catalog.pg_backend_pid()
      """;

  // Only the claim's own transaction: process ids are reused, and behind a transaction pooler the
  // process serves others meanwhile.
  private static final String END_BY_PID =
      """
      SELECT pg_catalog.pg_terminate_backend(a.pid)
        FROM pg_catalog.pg_stat_activity AS a
       WHERE a.pid OPERATOR(pg_catalog.=) ? AND a.xact_start OPERATOR(pg_catalog.<=) ?::pg_catalog.text::pg_catalog.timestamptz
      """;

  private static final String SAVEPOINT = "SAVEPOINT pgonce_terminate";
  // pg_terminate_backend asks for the login role, which «ALTER ROLE … SET role» hides.
  private static final String AS_LOGIN_ROLE = "SELECT pg_catalog.set_config('role', 'none', true)";
  private static final String UNDO = "ROLLBACK TO SAVEPOINT pgonce_terminate";

  HandlerSession in(int otherPid) {
    return new HandlerSession(otherPid, idleTimeout, settings);
  }

  HandlerSession withoutSavepoint() {
    return new HandlerSession(backendPid, idleTimeout, null);
  }

  /**
   * To be sent first in the handler's transaction.
   *
   * @param token of the lease; null if there is none, and so no mark
   */
  public static HandlerSession begin(
      Connection transaction, Duration handlerTimeout, @Nullable String token) throws SQLException {
    return Statements.row(
        transaction,
        BEGIN,
        row -> {
          PoolSettings.Taken.requireFit(row.getString("modes"));
          return new HandlerSession(row.getInt("pid"), row.getString("idle"), null);
        },
        ClaimSession.idleBoundMs(handlerTimeout),
        token == null ? null : mark(token));
  }

  private static String mark(String token) {
    return "pgonce lease " + token;
  }

  /**
   * Ends the session that holds the claim, by its transaction, or by the mark of its lease if there
   * is one. Best effort: where the role may not, the session keeps its locks until it notices by
   * itself. The caller's transaction stays as it was.
   *
   * @throws SQLException if the caller's own connection fails
   */
  public static void end(Connection transaction, Claim claim) throws SQLException {
    if (claim.holder() == null && claim.token() == null) {
      return; // that of a row that was locked and given back is not known
    }
    Statements.execute(transaction, SAVEPOINT);
    try {
      Statements.execute(transaction, AS_LOGIN_ROLE);
      var holder = claim.holder();
      if (holder != null) {
        var since = claim.claimedAt().toString();
        Statements.execute(transaction, END_BY_PID, holder.backendPid(), since);
      } else if (claim.token() != null) {
        Statements.execute(transaction, END_BY_TOKEN, mark(claim.token()));
      }
    } catch (SQLException e) {
      if (LostConnection.isLikely(e)) {
        throw e;
      }
      LOG.warn(
          "pgonce: the session of {} could not be ended (SQLState {}); what it has locked stays locked until it"
              + " ends. Grant the role EXECUTE on pg_terminate_backend, or pg_signal_backend",
          claim,
          e.getSQLState());
      LOG.debug("pgonce: the failure to end a session", e);
    }
    Statements.execute(transaction, UNDO);
  }
}
