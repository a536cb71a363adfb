package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSavepoint;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.jdbc.Conflict;
import org.pgonce.internal.jdbc.Following;
import org.pgonce.internal.jdbc.LastStatement;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.NetworkTimeout;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionState;

/**
 * The connection of a claim's transaction, lent to a handler and taken back.
 *
 * <p>The handler uses {@link #connection()}. Before its first statement the savepoint {@code
 * pgonce_handler} is set, by the message of the claim itself or by one of its own. Then its owner
 * calls {@link #commitWith}, {@link #sealWith}, or {@link #seal} and settles, or {@link #undo} and
 * records the failure. Each ends the handler first: from then on whatever it still holds throws,
 * {@code close()} excepted.
 *
 * <p>The savepoint must be gone before the notification is deleted or changed: a row locked by a
 * transaction and deleted by its subtransaction gets a MultiXact (PostgreSQL 14 to 18), and those
 * end in a small cache that all sessions share.
 *
 * <p>What the handler may not do is refused with SQLState 25000, by method ({@link CallRule}) and
 * by SQL text ({@link HandlerSql}). A handler that was refused the end of the transaction has
 * failed, even if it swallows the exception. What functions do to the session is found when
 * settling: see {@link SessionState}. It guards against mistakes, not against an attacker in the
 * same JVM. Temporary tables and session-level advisory locks stay with the session.
 *
 * <p>Not thread-safe for its owner; what it hands out may be used by threads of the handler, one
 * call at a time.
 */
public final class GuardedConnection {

  /** How long a call of the handler that is still under way when the handler ends is waited for. */
  public static final Duration DEFAULT_PATIENCE = Duration.ofSeconds(5);

  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  // What the release says if the transaction is aborted, or not the one that it was.
  private static final Set<String> ENDED = Set.of("25P02", "3B001", "25P01");

  private final Connection real;
  private final HandlerScope scope;
  private final Connection guarded;
  private boolean sealed;
  private @Nullable SessionState toRestore;

  private GuardedConnection(Connection real, HandlerScope scope) {
    this.real = real;
    this.scope = scope;
    this.guarded = GuardedObject.connection(scope, real);
  }

  /** As below, where no savepoint is set. */
  public static GuardedConnection over(
      Connection real, NotificationHeaders origin, Object notification, Duration patience) {
    return over(real, origin, null, notification, patience);
  }

  /**
   * Guards a connection for one run of a handler.
   *
   * @param real in a transaction as {@link PoolSettings} makes them, not in a savepoint
   * @param origin what the handler publishes says that it comes from there
   * @param session what {@link SessionState#COLUMN} yielded before the savepoint was set, and the
   *     origin with it; null if that is still to be done
   * @param notification says in messages which notification is handled, by its toString(), which
   *     must not tell the payload
   * @param patience how long to wait, when the handler ends, for a call that another thread of it
   *     is still making; after that the connection is aborted
   */
  public static GuardedConnection over(
      Connection real,
      NotificationHeaders origin,
      @Nullable String session,
      Object notification,
      Duration patience) {
    var before = session == null ? null : new SessionState(session);
    return new GuardedConnection(
        real, new HandlerScope(real, origin, before, notification, patience));
  }

  /**
   * No handler runs after all: takes back the savepoint that was set for it.
   *
   * @param session as of {@link #over}: null if none was set
   */
  public static void unready(Connection real, @Nullable String session) throws SQLException {
    if (session != null) {
      HandlerSavepoint.execute(HandlerSavepoint.RELEASE, real);
    }
  }

  /**
   * From here on the connection serves the handler of another notification of a batch: what that
   * publishes comes from there. Costs a round trip before the handler's first statement.
   */
  void turnTo(NotificationHeaders origin) {
    scope.turnTo(origin);
  }

  /**
   * The handlers of a batch have ended: what is still to happen in the transaction comes from all.
   *
   * @throws SQLException if that cannot be set, or the last of them has changed the session
   */
  void turnToAll(NotificationHeaders common) throws SQLException {
    scope.turnToAll(common);
  }

  /**
   * Whether PostgreSQL has undone the work for a deadlock or a serialization failure. Also where
   * the handler has swallowed that error, and so met the aborted transaction.
   */
  public boolean isConflict(Throwable failure) {
    return Conflict.isToldBy(failure)
        || (HandlerScope.isFailedTransaction(failure) && Conflict.isToldBy(scope.lastError()));
  }

  /** Whether a handler of a batch was refused a setting that the next one would have met. */
  public boolean isSettingRefused() {
    return scope.settingRefused();
  }

  /**
   * What the handler gets. Always the same object; {@code getConnection()} of its parts gives it.
   */
  public Connection connection() {
    return guarded;
  }

  /**
   * Ends the handler, and makes sure that its work stands and the transaction is alive and still
   * the one it began in. Sends nothing where no savepoint is set, neither by the claim nor before a
   * statement of the handler.
   *
   * @throws SQLException if the handler has failed although it returned: it swallowed an SQL error
   *     (25P02), ended the transaction (3B001, 25P01), was refused its end (25000), or a thread of
   *     it did not let go of the connection (08003: the connection is aborted). Call {@link #undo}
   *     then
   */
  public void seal() throws SQLException {
    scope.end();
    if (scope.endRefused() != null) {
      throw scope.endRefused().exception(scope.notification());
    }
    var before = scope.sessionBefore();
    if (before != null) {
      try {
        found(before, shortlyIfLost(() -> HandlerSavepoint.release(before, real)));
      } catch (SQLException e) {
        throw notSealed(e);
      }
    }
    sealed = true;
  }

  /**
   * The same, and a statement that settles the notification; in one message where that is possible.
   *
   * @throws SQLException as {@link #seal}, or what the statement throws
   */
  public <R> R sealWith(LastStatement<R> last) throws SQLException {
    return sealWith(last, Following.NOTHING);
  }

  /** The same, and the commit, also in that message where that is possible. */
  public <R> R commitWith(LastStatement<R> last) throws SQLException {
    return commitWith(last, Following.COMMIT);
  }

  /**
   * The same, and what begins the next transaction: that, and whatever stands behind it, is done
   * only where the driver can send it in that message, and not kept where {@link #restoreSession}
   * has something to do.
   *
   * @param commit tells whether it was done
   * @throws SQLException as {@link #sealWith}; or it is not committed, or not known to be; it may
   *     be what stands behind the commit that has failed
   */
  public <R> R commitWith(LastStatement<R> last, Following commit) throws SQLException {
    var among = Pipeline.endsAtAnError(real) && !scope.keepsSetting();
    var result = sealWith(last, among ? commit : Following.NOTHING);
    if (!commit.hasBegun()) {
      // Sends nothing where that is done; but whoever is around the driver hears of it.
      real.commit();
    } else if (toRestore != null) {
      commit.undone();
      real.rollback();
    }
    return result;
  }

  private <R> R sealWith(LastStatement<R> last, Following behind) throws SQLException {
    scope.end();
    var before = scope.sessionBefore();
    if (before == null || scope.endRefused() != null || isLost() || PgjdbcNg.made(real)) {
      seal();
      try {
        return last.among("", behind, real);
      } catch (SQLException e) {
        throw last.explained(e);
      }
    }
    try {
      R result;
      if (scope.used()) {
        var followed = HandlerSavepoint.release(before, last, behind, real);
        found(before, followed.state());
        result = followed.result();
      } else {
        result = last.among(HandlerSavepoint.RELEASE, behind, real);
        scope.savepointGone();
      }
      sealed = true;
      return result;
    } catch (SQLException e) {
      if (ENDED.contains(String.valueOf(e.getSQLState())) || LostConnection.isToldBy(e)) {
        throw notSealed(e);
      }
      sealed = true; // for all that is known: the failure is that of the statement behind
      throw last.explained(e);
    }
  }

  /** The savepoint is gone, and the session's settings are these. */
  private void found(SessionState before, SessionState session) {
    if (!session.equals(before)) {
      toRestore = before;
    }
    scope.savepointGone();
  }

  /**
   * Ends the handler and undoes its work, keeping the transaction and its row lock.
   *
   * @throws SQLException if that is not possible, since the transaction or the connection is gone,
   *     or since {@link #seal} has succeeded before: roll the whole transaction back then
   */
  public void undo() throws SQLException {
    scope.end();
    if (sealed) {
      throw new SQLException(
          "the work of the handler of "
              + scope.notification()
              + " is sealed and cannot be undone alone: roll the transaction back",
          Refusal.SQL_STATE);
    }
    if (scope.sessionBefore() != null) {
      var unused = shortlyIfLost(() -> HandlerSavepoint.execute(HandlerSavepoint.UNDO, real));
      scope.savepointGone();
    }
  }

  /**
   * Ends the handler and leaves the transaction as it is. Idempotent.
   *
   * @throws SQLException if a thread of the handler did not let go of the connection within the
   *     patience; the connection is aborted then
   */
  public void revoke() throws SQLException {
    scope.end();
  }

  /** Whether the last error that the handler saw says that its connection has ended. */
  boolean isLost() {
    return LostConnection.isToldBy(scope.lastError());
  }

  /**
   * Sets back, for good, what the handler has changed of the session in a way that its SQL did not
   * show. To be called after the commit that followed {@link #seal}, or {@link #commitWith};
   * commits if it had anything to do, and sends nothing otherwise.
   *
   * @param idleTimeout the idle_in_transaction_session_timeout outside the transaction, where the
   *     claim has set another one in it; else null
   * @return whether it had
   * @throws SQLException if that is not possible: the connection must not be used any more
   */
  public boolean restoreSession(@Nullable String idleTimeout) throws SQLException {
    if (scope.keepsSetting()) {
      throw new SQLException(
          "its SQL calls set_config without the constant true as the third argument, and what a"
              + " setting of that name was before is not known. Instead: use SET LOCAL, or"
              + " set_config(…, …, true)",
          Refusal.SQL_STATE);
    }
    if (toRestore == null) {
      return false;
    }
    toRestore.restore(real, idleTimeout);
    return true;
  }

  /**
   * The connection may have sounded lost only, as an error that a foreign table brings in does: so
   * it is tried, but not waited for.
   */
  private <R> R shortlyIfLost(HandlerScope.Call<R, SQLException> call) throws SQLException {
    var bound = isLost() ? NetworkTimeout.set(real, LAST_WORDS) : null;
    var result = call.run();
    if (bound != null) {
      bound.restore(real);
    }
    return result;
  }

  private SQLException notSealed(SQLException e) {
    String state = String.valueOf(e.getSQLState());
    String what =
        switch (state) {
          case "25P02" ->
              "caught an SQLException and went on, but its transaction is aborted and nothing of its"
                  + " work would stay. Instead: let the exception through, or set a savepoint before"
                  + " the statement that may fail and roll back to it";
          case "3B001", "25P01" ->
              "ended the transaction that it was given. Instead: leave commit and rollback to pgonce";
          default ->
              "could not be followed by a statement of pgonce: the connection does not answer";
        };
    SQLException lastError = scope.lastError();
    var failure =
        new SQLException(
            "the handler of " + scope.notification() + " " + what,
            state,
            lastError == null ? e : lastError);
    if (lastError != null && lastError != e) {
      failure.addSuppressed(e);
    }
    return failure;
  }
}
