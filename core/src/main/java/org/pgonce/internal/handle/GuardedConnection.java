package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSavepoint;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.SessionState;

/**
 * The connection of a claim's transaction, lent to a handler and taken back.
 *
 * <p>Before the handler's first statement a savepoint is set. The owner then settles by {@link
 * #commitWith} or {@link #seal}, or calls {@link #undo}. Each ends the handler first: what it still
 * holds throws from then on, {@code close()} excepted. Each ends the savepoint before the
 * notification is deleted or changed: a row locked by a transaction and deleted by its
 * subtransaction gets a MultiXact (PostgreSQL 14 to 18), of which a server has a small cache only.
 *
 * <p>What the handler may not do is refused by method ({@link GuardedObject}) and by SQL text
 * ({@link HandlerSql}). What functions do to the session is found when settling ({@link
 * SessionState}). This guards against mistakes, not against an attacker in the same JVM. Temporary
 * tables and session-level advisory locks stay with the session.
 *
 * <p>Not thread-safe for its owner. Threads of the handler may share what it hands out.
 */
public final class GuardedConnection {

  /** How long the end of a handler waits for a call of another thread of it. */
  public static final Duration DEFAULT_PATIENCE = Duration.ofSeconds(5);

  private static final String NO_SUCH_SAVEPOINT = "3B001";
  private static final String NO_TRANSACTION = "25P01";
  private static final String IDLE_IN_TRANSACTION = "25P03";
  private static final String TRANSACTION_TIMEOUT = "25P04";

  final HandlerRun run;
  private final Connection real;
  private Pipeline.@Nullable Sent<SessionState> after;
  private boolean sealed;
  private @Nullable SessionState toRestore;

  /**
   * Guards a connection for one run of a handler.
   *
   * @param real in a transaction as {@link PoolSettings} makes them, not in a savepoint
   * @param origin the headers of what the handler publishes
   * @param before as read before the savepoint was set, together with the origin; null if no
   *     savepoint is set
   * @param notification its toString() says in messages which notification is handled
   * @param patience how long its end waits for a call of another thread
   */
  public GuardedConnection(
      Connection real,
      NotificationHeaders origin,
      @Nullable SessionState before,
      Object notification,
      Duration patience) {
    this.real = real;
    this.run = new HandlerRun(real, origin, before, notification, patience);
  }

  /** Releases the savepoint, if one was set, for a handler that does not run after all. */
  public static void unready(Connection real, @Nullable SessionState before) throws SQLException {
    if (before != null) {
      Pipeline.send(HandlerSavepoint.RELEASED, real);
    }
  }

  /** What the handler gets: always the same object. */
  public Connection connection() {
    return run.guarded();
  }

  /**
   * Ends the handler and leaves the transaction as it is. Idempotent.
   *
   * @throws SQLException if a call did not return within the patience (08003); the connection is
   *     aborted then
   */
  public void revoke() throws SQLException {
    run.end();
  }

  /**
   * Whether PostgreSQL has undone the work for a deadlock or a serialization failure; also if the
   * handler swallowed that error and then met the aborted transaction.
   */
  public boolean isConflict(Throwable failure) {
    return Failures.isConflict(failure)
        || (failure instanceof SQLException sql
            && HandlerRun.IN_FAILED_TRANSACTION.equals(sql.getSQLState())
            && Failures.isConflict(run.lastError));
  }

  /** Whether a handler of a batch was refused a setting that the next one would have met. */
  public boolean isSettingRefused() {
    return run.settingRefused;
  }

  /**
   * Ends the handler, and checks that its work stands and the transaction is alive and still the
   * one it began in. Sends nothing if no savepoint is set.
   *
   * @throws SQLException if the handler has failed although it returned: it swallowed an SQL error
   *     (25P02), ended the transaction (3B001, 25P01), was refused its end (25000), or as {@link
   *     #revoke}; or what is deferred to the commit has failed. Call {@link #undo} then
   */
  public void seal() throws SQLException {
    send(release());
  }

  /**
   * The same, a statement that settles the notification, the commit, and what begins the next
   * transaction. The latter is sent only where one message takes all, and is undone if {@link
   * #restoreSession} has something to do, which rolls it back.
   *
   * @throws SQLException as {@link #seal}, or what the statement throws; or it is not committed, or
   *     not known to be; or what begins the next transaction has failed
   */
  public <R> R commitWith(Pipeline.Part<R> last, Pipeline.@Nullable Next next) throws SQLException {
    var message = release();
    var settled = message.add(last);
    var commits = Pipeline.isPossible(real) && !run.keepsSetting;
    if (commits) {
      message.add(Pipeline.COMMIT);
      if (next != null) {
        next.addTo(message);
      }
    }
    send(message);
    if (!commits || next == null) {
      real.commit(); // sends nothing if that is done, but a pool around the driver takes note
    } else if (toRestore != null) {
      next.undone();
    }
    return settled.result();
  }

  /**
   * The connection is not used any more: what has failed may have done so within the driver, amid a
   * message.
   */
  public void distrust() {
    run.broken = true;
  }

  /** Whether it can no longer be used, by this failure or by what the handler met before. */
  public boolean isLost(Throwable failure) {
    return LostConnection.isToldBy(failure) || run.isLost();
  }

  /** Ends the handler; the message begins with the release of its savepoint. */
  private Pipeline release() throws SQLException {
    run.end();
    run.requireWhole();
    if (run.endRefused != null) {
      throw run.endRefused;
    }
    var message = new Pipeline(real);
    if (run.before != null && run.used) {
      after = HandlerSavepoint.release(run.before, message);
    } else if (run.before != null) {
      message.add(HandlerSavepoint.RELEASED);
    }
    return message;
  }

  private void send(Pipeline message) throws SQLException {
    try {
      message.send();
    } catch (SQLException e) {
      var why = run.before == null ? null : whyNotReleased(e);
      if (why != null) {
        throw notSealed(e, why);
      }
      // Where the server answers, it may be what was deferred to the commit, before the release:
      // undo() finds out.
      sealed = LostConnection.isLikely(e);
      throw e;
    }
    sealed = true;
    if (after != null && !after.result().equals(run.before)) {
      toRestore = run.before;
    }
    run.before = null;
  }

  /**
   * Ends the handler and undoes its work, keeping the transaction and its row lock.
   *
   * @throws SQLException if that is not possible, since the transaction or the connection is gone,
   *     or since {@link #seal} has succeeded before: roll the whole transaction back then
   */
  public void undo() throws SQLException {
    undo(HandlerSavepoint.UNDONE, HandlerSavepoint.RELEASED);
    run.before = null;
  }

  /** As {@link #undo}, and keeps the savepoint for another run, if it was set. */
  public void undoToRunAgain() throws SQLException {
    undo(HandlerSavepoint.UNDONE);
  }

  /** The session's settings before the savepoint; null if none is set. */
  public @Nullable SessionState before() {
    return run.before;
  }

  @SafeVarargs
  private void undo(Pipeline.Part<Boolean>... commands) throws SQLException {
    run.end();
    if (run.isLost()) {
      // Of another server, perhaps, by a foreign table; but one that is lost may never answer.
      throw new SQLException("the handler's connection is lost", run.lastError);
    }
    if (sealed) {
      throw cannotBeUndoneAlone(null);
    }
    if (run.before == null) {
      return;
    }
    var message = new Pipeline(real);
    for (var command : commands) {
      message.add(command);
    }
    try {
      message.send();
    } catch (SQLException e) {
      throw NO_SUCH_SAVEPOINT.equals(e.getSQLState()) ? cannotBeUndoneAlone(e) : e;
    }
  }

  private SQLException cannotBeUndoneAlone(@Nullable SQLException cause) {
    return new SQLException(
        "the work of the handler of %s is sealed and cannot be undone alone: roll the transaction back"
            .formatted(run.notification),
        Refusal.SQL_STATE,
        cause);
  }

  /** What the handler did; null if the release of its savepoint is not what has failed. */
  private static @Nullable String whyNotReleased(SQLException e) {
    var state = String.valueOf(e.getSQLState());
    return switch (state) {
      case HandlerRun.IN_FAILED_TRANSACTION ->
          "caught an SQLException and went on, but its transaction is aborted and nothing of its"
              + " work would stay. Instead: let the exception through, or set a savepoint before"
              + " the statement that may fail and roll back to it";
      case NO_SUCH_SAVEPOINT, NO_TRANSACTION ->
          "ended the transaction that it was given. Instead: leave commit and rollback to pgonce";
      case IDLE_IN_TRANSACTION ->
          "was without SQL for longer than idle_in_transaction_session_timeout, so the server has"
              + " ended its session. Instead: make that longer than the handler's timeout, or 0"
              + " (ALTER ROLE … SET idle_in_transaction_session_timeout)";
      case TRANSACTION_TIMEOUT ->
          "took longer than transaction_timeout, so the server has ended its session. Instead: make"
              + " that longer than the handler's timeout, or 0 (ALTER ROLE … SET transaction_timeout)";
      default ->
          LostConnection.isToldBy(e)
              ? "could not be followed by a statement of pgonce: the connection does not answer"
              : null;
    };
  }

  private SQLException notSealed(SQLException e, String why) {
    var cause = run.lastError == null ? e : run.lastError;
    var failure =
        new SQLException("the handler of " + run.notification + " " + why, e.getSQLState(), cause);
    if (cause != e) {
      failure.addSuppressed(e);
    }
    return failure;
  }

  /**
   * Sets the session's settings back if the handler changed them for good, and commits that. To be
   * called after the commit.
   *
   * @param idleTimeout as of {@link SessionState#restore}
   * @return whether it had anything to do
   * @throws SQLException if that is not possible: the connection must not be used any more
   */
  public boolean restoreSession(String idleTimeout) throws SQLException {
    if (run.keepsSetting) {
      throw new SQLException(
          "its SQL calls set_config without the constant true as the third argument, and what a"
              + " setting of that name was before is not known. Instead: use SET LOCAL, or"
              + " set_config(…, …, true)",
          Refusal.SQL_STATE);
    }
    if (toRestore == null) {
      return false;
    }
    real.rollback(); // of what was begun behind the commit
    toRestore.restore(real, idleTimeout);
    return true;
  }
}
