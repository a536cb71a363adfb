package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.jdbc.ClientCheck;
import org.pgonce.internal.jdbc.PoolSettings;

/**
 * The session of a handler that no claim's transaction holds: of a leased notification, or of a
 * broadcast. What it has locked is to be free when its lease is over, also where its process is
 * frozen or cut off and nothing tells the server: so its first statement bounds how long it may
 * idle, and marks it with its lease's token, by an advisory lock that PostgreSQL gives back at the
 * transaction's end. Whoever finds the lease over ends the session that has the mark; so does who
 * gives a handler up. A process that is killed while a statement runs frees its locks sooner: see
 * {@link ClientCheck}.
 */
public final class HandlerSession {

  // A shorter bound of the session's stays. The lock is shared and only tried: nobody ever waits
  // for it.
  private static final String BEGIN =
      """
      SELECT s.idle,
             pg_catalog.set_config('idle_in_transaction_session_timeout',
               CASE WHEN s.idle::pg_catalog.interval BETWEEN INTERVAL '1 microsecond' AND b.ms * INTERVAL '1 millisecond'
                 THEN s.idle ELSE b.ms::pg_catalog.text END, true),
             %s,
             pg_catalog.pg_try_advisory_xact_lock_shared(pg_catalog.hashtextextended(b.token, 0))
        FROM pg_catalog.current_setting('idle_in_transaction_session_timeout') AS s (idle),
             (SELECT ?::pg_catalog.int8, ?::pg_catalog.text) AS b (ms, token)
      """
          .formatted(ClientCheck.COLUMN);

  // How pg_locks shows the two halves of the lock's number.
  private static final String END =
      """
      SELECT pg_catalog.pg_terminate_backend(l.pid)
        FROM pg_catalog.pg_locks AS l, pg_catalog.hashtextextended(?, 0) AS k (mark)
       WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
         AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
         AND l.classid = ((k.mark >> 32) & 4294967295)::pg_catalog.oid AND l.objid = (k.mark & 4294967295)::pg_catalog.oid
         AND l.pid <> pg_catalog.pg_backend_pid()
      """;

  private HandlerSession() {}

  /**
   * To be sent first in the handler's transaction.
   *
   * @param taken the connection's
   * @param handlerTimeout the handler's
   * @param token of the lease; of a broadcast's handler, one of its own
   * @return the session's idle_in_transaction_session_timeout outside the transaction
   */
  public static String begin(
      Connection transaction, PoolSettings.Taken taken, Duration handlerTimeout, String token)
      throws SQLException {
    try (var statement = transaction.prepareStatement(taken.text(BEGIN))) {
      statement.setLong(1, ClaimSession.idleBoundMs(handlerTimeout));
      statement.setString(2, mark(token));
      try (var row = statement.executeQuery()) {
        row.next();
        return row.getString(1);
      }
    }
  }

  /**
   * Ends the session that has the mark of the lease, if there is one, and leaves the caller's
   * transaction as it was. Best effort, as {@link ClaimHolder#end}.
   *
   * @throws SQLException if the caller's own connection fails
   */
  public static void end(Connection transaction, String token) throws SQLException {
    BackendTerminator.run(
        transaction,
        "the session whose lease is over",
        () -> {
          try (var statement = transaction.prepareStatement(END)) {
            statement.setString(1, mark(token));
            statement.execute();
          }
        });
  }

  private static String mark(String token) {
    return "pgonce lease " + token;
  }
}
