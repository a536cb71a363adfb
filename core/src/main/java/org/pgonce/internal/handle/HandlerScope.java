package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSavepoint;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.concurrent.Deadline;
import org.pgonce.internal.jdbc.SessionState;
import org.postgresql.copy.CopyOperation;
import org.postgresql.copy.CopyOut;

/**
 * One run of a handler, as all its guarded objects see it: whose turn it is on the connection,
 * whether the savepoint is set, and whether the handler has ended.
 *
 * <p>Each guarded call holds the turn from its check to its return. So once {@link #end} has had
 * the turn, no call of the handler is under way and none can begin.
 */
final class HandlerScope {

  private static final String IN_FAILED_TRANSACTION = "25P02";
  private static final String CONNECTION_DOES_NOT_EXIST = "08003";

  private final Connection real;
  private final Object notification;
  private final Duration patience;
  private final ReentrantLock turn = new ReentrantLock();
  private volatile boolean ended;

  // The rest is read and written with the turn held, or after end().
  private NotificationHeaders origin;
  // Whether the transaction's settings say that it comes from there.
  private boolean originSet;
  // Whether notifications after this one share the transaction.
  private boolean inTurns;
  private boolean settingRefused;
  private boolean used;
  // Known as long as the savepoint is set.
  private @Nullable SessionState sessionBefore;
  private boolean keepsSetting;
  private @Nullable SQLException lastError;
  private @Nullable Refusal endRefused;
  private @Nullable CopyOperation copy;

  /**
   * @param session the session's settings, if the savepoint is set already; else null
   */
  HandlerScope(
      Connection real,
      NotificationHeaders origin,
      @Nullable SessionState session,
      Object notification,
      Duration patience) {
    this.real = real;
    this.origin = origin;
    this.sessionBefore = session;
    this.originSet = session != null;
    this.notification = notification;
    this.patience = patience;
  }

  /** Whether it says only that an error came before it. */
  static boolean isFailedTransaction(Throwable failure) {
    return failure instanceof SQLException sql && IN_FAILED_TRANSACTION.equals(sql.getSQLState());
  }

  boolean hasEnded() {
    return ended;
  }

  /**
   * Takes the turn; false, without it, if the handler has ended. Waits as long as another call of
   * the same handler runs, as the drivers' own locks would.
   */
  boolean enter() {
    if (ended) {
      return false;
    }
    turn.lock();
    if (ended) {
      turn.unlock();
      return false;
    }
    return true;
  }

  void leave() {
    turn.unlock();
  }

  interface Call<R, X extends Exception> {
    R run() throws SQLException, X;
  }

  /** Runs one call of the handler, and remembers what it throws. */
  <R, X extends Exception> R inTurn(Call<R, X> call) throws SQLException, X {
    if (!enter()) {
      throw usedAfterEnd();
    }
    try {
      return call.run();
    } catch (SQLException e) {
      throw noted(e);
    } finally {
      leave();
    }
  }

  /**
   * To be called before whatever talks to the server: sets the savepoint if none is set yet, and
   * where handlers share the transaction, the context and depth of this one's notification.
   */
  void arm() throws SQLException {
    requireNoOpenCopy();
    if (sessionBefore == null) {
      sessionBefore = HandlerSavepoint.set(origin, real);
    } else if (!originSet && !HandlerSavepoint.setOrigin(origin, sessionBefore, real)) {
      throw refusedSetting("a function or trigger that changes a setting");
    }
    originSet = true;
    used = true;
  }

  /** Checks the text of a statement, and arms. */
  void arm(String sql) throws SQLException {
    var read = HandlerSql.read(sql);
    if (read.refusal() != null) {
      throw refused(read.refusal());
    }
    if (inTurns && read.changesSettings()) {
      throw refusedSetting("SET LOCAL, SET CONSTRAINTS or set_config()");
    }
    arm();
    keepsSetting |= read.keepsSetting();
  }

  private SQLException refusedSetting(String what) {
    settingRefused = true;
    return refused(Refusal.ofSharedSetting(what));
  }

  /**
   * From here on the connection serves the handler of another notification, in the same
   * transaction.
   */
  void turnTo(NotificationHeaders next) {
    turn.lock();
    try {
      origin = next;
      originSet = false;
      inTurns = true;
    } finally {
      turn.unlock();
    }
  }

  /** What follows in the transaction is of all of them: a deferred trigger, for one. */
  void turnToAll(NotificationHeaders common) throws SQLException {
    turnTo(common);
    turn.lock();
    try {
      if (used) {
        arm();
      }
    } finally {
      turn.unlock();
    }
  }

  void copying(CopyOperation started) {
    copy = started;
  }

  void requireNoOpenCopy() throws SQLException {
    if (copy != null && copy.isActive()) {
      // pgjdbc would wait for the end of the COPY for ever, and so would the thread that could end
      // it: this one has the turn.
      throw new SQLException(
          "a COPY is still open on the connection in the handler of "
              + notification
              + ": end or cancel it before the next statement",
          Refusal.SQL_STATE);
    }
  }

  /**
   * Cancels a COPY that is open. Of a COPY TO pgjdbc leaves what it has not read on the connection,
   * where the next statement would take it for its own answer: so that costs the connection.
   */
  void cancel(CopyOperation open) throws SQLException {
    if (open instanceof CopyOut && open.isActive()) {
      real.abort(Runnable::run);
      throw new SQLException(
          "a COPY TO in the handler of "
              + notification
              + " was not read to its end. What is left of it would be taken for the answer to the"
              + " next statement, so the connection is aborted, and its transaction rolled back."
              + " Instead: read it to its end, or give the query a LIMIT.",
          CONNECTION_DOES_NOT_EXIST);
    }
    open.cancelCopy();
  }

  SQLException refused(Refusal refusal) {
    if (refusal.endsTransaction()) {
      endRefused = refusal;
    }
    return refusal.exception(notification);
  }

  /** Remembers what went wrong, to be told if the handler swallows it. */
  SQLException noted(SQLException error) {
    // 25P02 only follows from an error before it, and that one is what the user must see.
    if (!isFailedTransaction(error)) {
      lastError = error;
    }
    return error;
  }

  SQLException usedAfterEnd() {
    return new SQLException(
        "the handler of "
            + notification
            + " has ended, and its connection with it: the connection now belongs to another"
            + " transaction. Instead: keep the connection inside the handler, and wait there for"
            + " threads that use it.",
        CONNECTION_DOES_NOT_EXIST);
  }

  /**
   * Shuts the handler out: new calls fail from here on, a call under way is waited for. One that
   * does not return within the patience condemns the connection, which is aborted then.
   */
  void end() throws SQLException {
    ended = true;
    if (!takeTurn()) {
      real.abort(Runnable::run);
      throw new SQLException(
          "a call of the handler of "
              + notification
              + " was still using the connection "
              + patience.toMillis()
              + " ms after the handler had ended. The connection is aborted, its transaction rolled"
              + " back. Instead: wait in the handler for threads that use its connection.",
          CONNECTION_DOES_NOT_EXIST);
    }
    try {
      if (copy != null && copy.isActive()) {
        // Else the driver would wait for the handler to end it. The server then has an aborted
        // transaction.
        cancel(copy);
      }
    } finally {
      turn.unlock();
    }
  }

  private boolean takeTurn() {
    // A handler may leave its thread interrupted: that must not cost the connection.
    var interrupted = false;
    try {
      var deadline = Deadline.in(patience);
      while (true) {
        try {
          return turn.tryLock(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Whether a handler was refused a setting that the next one would have met. */
  boolean settingRefused() {
    return settingRefused;
  }

  /** Whether the handler has sent anything. */
  boolean used() {
    return used;
  }

  void savepointGone() {
    sessionBefore = null;
  }

  /** The session's settings before the savepoint; null if none is set. */
  @Nullable SessionState sessionBefore() {
    return sessionBefore;
  }

  /** Whether its SQL sets something for longer than the transaction that cannot be set back. */
  boolean keepsSetting() {
    return keepsSetting;
  }

  @Nullable SQLException lastError() {
    return lastError;
  }

  @Nullable Refusal endRefused() {
    return endRefused;
  }

  Object notification() {
    return notification;
  }
}
