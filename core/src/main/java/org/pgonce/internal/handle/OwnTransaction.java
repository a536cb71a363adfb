package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A handler's transaction where there is no claim to share: begun by its first use, committed after
 * the handler. {@link #connection} is for any thread of the handler, {@link #cutOff} for whoever
 * cuts it off.
 */
public final class OwnTransaction implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(OwnTransaction.class);
  private static final String CONNECTION_DOES_NOT_EXIST = "08003";

  private final ListenerContext context;
  private final Duration longestCall;
  private final Duration handlerTimeout;
  private final Object notification;
  private final NotificationHeaders origin;
  private final String token;
  private final ReentrantLock beginning = new ReentrantLock();
  private PoolSettings.@Nullable Taken taken;
  private volatile @Nullable String idleTimeout;
  private volatile @Nullable GuardedConnection guarded;

  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable Connection connection;
  private boolean isCutOff;
  private boolean isOver;

  /**
   * @param longestCall the most that the driver waits for one answer of the server
   * @param notification says in messages which notification is handled, by its toString()
   * @param origin where that comes from
   * @param handlerTimeout when the handler is cut off
   * @param token by which its session is known to whoever ends it: of its lease, where it has one
   */
  public OwnTransaction(
      ListenerContext context,
      Duration longestCall,
      Object notification,
      NotificationHeaders origin,
      Duration handlerTimeout,
      String token) {
    this.context = context;
    this.longestCall = longestCall;
    this.notification = notification;
    this.origin = origin;
    this.handlerTimeout = handlerTimeout;
    this.token = token;
  }

  /**
   * The guarded connection, begun if it is not yet.
   *
   * @throws SQLException if the handler has ended or been cut off
   */
  public Connection connection() throws SQLException {
    beginning.lock();
    try {
      var open = guarded;
      if (open == null) {
        open = begin();
        guarded = open;
      }
      return open.connection();
    } finally {
      beginning.unlock();
    }
  }

  private GuardedConnection begin() throws SQLException {
    requireNotOver();
    var begun = context.dataSource().getConnection();
    if (!isOurs(begun)) {
      begun.close();
      requireNotOver();
    }
    var own = context.pool().take(begun, longestCall);
    taken = own;
    idleTimeout = own.begin(() -> HandlerSession.begin(begun, own, handlerTimeout, token));
    return GuardedConnection.over(begun, origin, notification, GuardedConnection.DEFAULT_PATIENCE);
  }

  /** From here on {@link #close} gives it back; false if nobody will. */
  private boolean isOurs(Connection begun) {
    lock.lock();
    try {
      if (!isOver) {
        connection = begun;
      }
      return !isOver;
    } finally {
      lock.unlock();
    }
  }

  /** Commits what the handler did. */
  public void commit() throws SQLException {
    requireNotOver();
    if (guarded != null) {
      var unused = commitWith(transaction -> true);
    }
  }

  /**
   * Does the work and commits it together with what the handler did; in a transaction of its own
   * where the handler used none.
   */
  public <R> R commitWith(Transactions.Work<R> work) throws SQLException {
    requireNotOver();
    var used = guarded;
    var open = connection;
    if (used == null || open == null) {
      return context.transactions().run(work);
    }
    used.seal();
    var result = work.on(open);
    open.commit();
    restoreSession(used, open);
    return result;
  }

  /** Whether the handler has used it. */
  public boolean isUsed() {
    return guarded != null;
  }

  private void restoreSession(GuardedConnection used, Connection connection) {
    try {
      var unused = used.restoreSession(idleTimeout);
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: a handler changed its session's settings, and they could not be set back ({}); the connection is closed",
          Failures.inWords(e));
      LostConnection.abandon(connection);
    }
  }

  private void requireNotOver() throws SQLException {
    lock.lock();
    try {
      if (isOver) {
        throw new SQLException(
            "the handler of "
                + notification
                + " has no transaction any more: it has ended, or was cut off when its time or its"
                + " lease was over, or the listener stopped",
            CONNECTION_DOES_NOT_EXIST);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Closes the connection under the handler's hands, and gives it none from now on. */
  public void cutOff() {
    Connection open;
    lock.lock();
    try {
      isOver = true;
      isCutOff = true;
      open = connection;
    } finally {
      lock.unlock();
    }
    if (open != null) {
      LostConnection.abandon(open);
    }
  }

  @Override
  public void close() throws SQLException {
    Connection open;
    boolean lost;
    lock.lock();
    try {
      isOver = true;
      open = connection;
      lost = isCutOff;
    } finally {
      lock.unlock();
    }
    if (open == null) {
      return;
    }
    try (var ends = open) {
      var used = guarded;
      if (used != null) {
        used.revoke();
        lost |= used.isLost();
      }
      if (lost) {
        LostConnection.giveBack(ends);
        return;
      }
      ends.rollback();
      if (taken != null) {
        taken.restore();
      }
    }
  }
}
