package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSavepoint;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One run of a handler on its connection. Each guarded call holds the lock from its check to its
 * return, so no call runs or begins after {@link #end}. What ends a handler that overruns: {@link
 * WorkerSlots}.
 */
final class HandlerRun {

  static final String IN_FAILED_TRANSACTION = "25P02";
  private static final String CONNECTION_DOES_NOT_EXIST = "08003";
  private static final String CONNECTION_FAILURE = "08006";
  private static final Logger LOG = LoggerFactory.getLogger(HandlerRun.class);

  final Object notification;
  private final Connection real;
  private @Nullable Connection guarded;
  private final Duration patience;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean ended;
  // A call has ended with neither a result nor an SQLException, such as with a StackOverflowError:
  // the driver may be amid a message, wait for ever, or take one answer for another.
  volatile boolean broken;

  // The rest is read and written with the lock held, or after the end.

  // The session's settings when the savepoint was set; null while none is.
  @Nullable SessionState before;
  boolean used;
  boolean keepsSetting;
  boolean settingRefused;
  @Nullable SQLException lastError;
  @Nullable SQLException endRefused;
  // The headers of what is published, until the transaction has them.
  private @Nullable NotificationHeaders origin;
  private boolean sharesTransaction;
  private final Set<AutoCloseable> open = Collections.newSetFromMap(new IdentityHashMap<>());

  HandlerRun(
      Connection real,
      NotificationHeaders origin,
      @Nullable SessionState before,
      Object notification,
      Duration patience) {
    this.real = real;
    this.origin = before == null ? origin : null;
    this.before = before;
    this.notification = notification;
    this.patience = patience;
  }

  /** What the handler gets, always the same: made when it first asks, as some never do. */
  synchronized Connection guarded() {
    if (guarded == null) {
      guarded = GuardedObject.connection(this, real);
    }
    return guarded;
  }

  /**
   * Takes the lock for a call; false, without it, if the handler has ended.
   *
   * @throws SQLException if it is called from within another call: the driver would wait for ever;
   *     or if the connection is {@link #broken}
   */
  boolean enter() throws SQLException {
    requireWhole();
    if (lock.isHeldByCurrentThread()) {
      throw new SQLException(
          "the connection is in the middle of another call of this thread, which reads a stream of"
              + " the handler. Instead: query before it",
          Refusal.SQL_STATE);
    }
    lock.lock();
    var mayCall = !ended;
    if (!mayCall) {
      lock.unlock();
    }
    return mayCall;
  }

  void leave() {
    lock.unlock();
  }

  void requireWhole() throws SQLException {
    if (broken) {
      throw new SQLException(
          "a call of the handler of %s broke off in the driver, by an Error or a RuntimeException, so its connection is given up. Instead: let that through"
              .formatted(notification),
          CONNECTION_FAILURE);
    }
  }

  boolean hasEnded() {
    return ended;
  }

  /**
   * Ends the handler: no call begins from here on, one that runs is waited for, and what was left
   * open is closed. Idempotent.
   *
   * @throws SQLException if that call did not return within the patience; the connection is aborted
   */
  void end() throws SQLException {
    ended = true;
    if (!awaitCall()) {
      LostConnection.abandon(real);
      throw new SQLException(
          ("a call of the handler of %s was still using the connection %d ms after the handler had"
                  + " ended. The connection is aborted, its transaction rolled back. Instead: wait"
                  + " in the handler for threads that use its connection.")
              .formatted(notification, patience.toMillis()),
          CONNECTION_DOES_NOT_EXIST);
    }
    try {
      if (!isLost()) {
        open.forEach(this::close);
      }
      open.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Takes the lock. An interrupt, by the handler or by a cut-off, must not cost the connection. */
  private boolean awaitCall() {
    var end = System.nanoTime() + patience.toNanos();
    var interrupted = false;
    try {
      while (true) {
        try {
          return lock.tryLock(end - System.nanoTime(), TimeUnit.NANOSECONDS);
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

  private void close(AutoCloseable leftOpen) {
    try {
      leftOpen.close();
    } catch (Exception e) {
      LOG.debug("pgonce: what the handler of {} left open could not be closed", notification, e);
    }
  }

  /**
   * Prepares for a statement of the handler: sets the savepoint if none is set, and in a batch the
   * context and depth of this notification.
   */
  void arm() throws SQLException {
    used = true;
    if (origin == null) {
      return;
    }
    if (before == null) {
      before = HandlerSavepoint.set(origin, real);
    } else if (!HandlerSavepoint.setOrigin(origin, before, real)) {
      throw refusedSetting("a function or trigger that changes a setting");
    }
    origin = null;
  }

  void check(HandlerSql read) throws SQLException {
    if (read.refusal() != null) {
      throw refused(read.what(), read.refusal());
    }
    if (sharesTransaction && read.changesSettings()) {
      throw refusedSetting("SET LOCAL, SET CONSTRAINTS or set_config()");
    }
    keepsSetting |= read.keepsSetting();
  }

  /** Remembers what is to be closed at the end. */
  void opened(AutoCloseable statement) {
    open.add(statement);
  }

  void closed(Object statement) {
    open.remove(statement);
  }

  private SQLException refusedSetting(String what) {
    settingRefused = true;
    return refused(what, Refusal.SHARED_SETTING);
  }

  SQLException refused(String what, Refusal refusal) {
    var refused = refusal.exception(what, notification);
    if (refusal.endsTransaction()) {
      endRefused = refused;
    }
    return refused;
  }

  /** Remembers an error, to report it if the handler swallows it. */
  SQLException noted(SQLException error) {
    // 25P02 only follows from an error before it, and that one is what the user must see.
    if (!IN_FAILED_TRANSACTION.equals(error.getSQLState())) {
      lastError = error;
    }
    return error;
  }

  /** Whether it is {@link #broken}, or the last error says that the connection has ended. */
  boolean isLost() {
    return broken || LostConnection.isToldBy(lastError);
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
   * From here on the connection serves the handler of another notification of a batch. Costs a
   * round trip before that handler's first statement.
   */
  void turnTo(NotificationHeaders next) {
    lock.lock();
    try {
      origin = next;
      sharesTransaction = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * The handlers of a batch have ended: what is still to happen in the transaction, such as a
   * deferred trigger, has what their notifications have in common.
   *
   * @throws SQLException if that cannot be set, or the last of them has changed the session
   */
  void turnToAll(NotificationHeaders common) throws SQLException {
    lock.lock();
    try {
      turnTo(common);
      if (used) {
        arm();
      }
    } finally {
      lock.unlock();
    }
  }
}
