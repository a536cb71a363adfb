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
 * A handler's transaction where no claim's transaction can be shared: begun by its first use,
 * committed after the handler. Any thread of the handler may call {@link #connection}, any thread
 * {@link #cutOff}.
 */
public final class OwnTransaction implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(OwnTransaction.class);
  private static final String CONNECTION_DOES_NOT_EXIST = "08003";

  // The driver gives up later than the handler's deadline, which knows what it cuts off.
  private static final Duration LEEWAY = Duration.ofSeconds(30);

  private final ListenerContext context;
  private final Duration handlerTimeout;
  private final Object notification;
  private final NotificationHeaders origin;
  private final String token;
  private final ReentrantLock beginning = new ReentrantLock();
  private volatile @Nullable Begun begun;
  // Why it could not begin: asked for again, it fails again.
  private volatile @Nullable Exception beginFailure;

  // What ends it does not wait for its beginning. Guarded by this.
  private @Nullable Connection connection;
  private boolean isCutOff;
  private boolean isOver;

  private record Begun(
      Connection connection,
      PoolSettings.Taken taken,
      String idleTimeout,
      GuardedConnection guarded) {}

  /**
   * @param notification its toString() says in messages which notification is handled
   * @param origin the headers of what the handler publishes
   * @param handlerTimeout when the handler is cut off
   * @param token marks its session: of its lease, where it has one
   */
  public OwnTransaction(
      ListenerContext context,
      Object notification,
      NotificationHeaders origin,
      Duration handlerTimeout,
      String token) {
    this.context = context;
    this.notification = notification;
    this.origin = origin;
    this.handlerTimeout = handlerTimeout;
    this.token = token;
  }

  /**
   * The guarded connection, begun if it is not yet. If it cannot begin, it is not tried again: each
   * further call, and the commit, fail as well.
   *
   * @throws SQLException also if the handler has ended or been cut off
   */
  public Connection connection() throws SQLException {
    beginning.lock();
    try {
      requireNotFailed();
      var open = begun;
      if (open == null) {
        try {
          open = begin();
        } catch (SQLException | RuntimeException e) {
          beginFailure = e;
          throw e;
        }
        begun = open;
      }
      return open.guarded().connection();
    } finally {
      beginning.unlock();
    }
  }

  private Begun begin() throws SQLException {
    requireNotOver();
    var own = context.dataSource().getConnection();
    if (!keep(own)) {
      own.close();
      requireNotOver();
    }
    try {
      var taken = context.pool().take(own, LEEWAY.plus(handlerTimeout));
      var idleTimeout = taken.begin(() -> HandlerSession.begin(own, handlerTimeout, token));
      return new Begun(
          own,
          taken,
          idleTimeout,
          GuardedConnection.over(own, origin, notification, GuardedConnection.DEFAULT_PATIENCE));
    } catch (SQLException | RuntimeException e) {
      drop(own);
      throw e;
    }
  }

  /** Its transaction has not begun: the pool gets it closed. */
  private void drop(Connection own) throws SQLException {
    synchronized (this) {
      connection = null;
    }
    LostConnection.giveBack(own);
  }

  /** A handler that went on without the transaction that it asked for has failed. */
  private void requireNotFailed() throws SQLException {
    var failure = beginFailure;
    if (failure != null) {
      throw new SQLException(
          "the transaction of the handler of "
              + notification
              + " could not begin, so its attempt has failed; let the exception through: "
              + Failures.inWords(failure),
          CONNECTION_DOES_NOT_EXIST,
          failure);
    }
  }

  /** From here on {@link #close} gives it back; false if it was called before. */
  private synchronized boolean keep(Connection own) {
    if (!isOver) {
      connection = own;
    }
    return !isOver;
  }

  private synchronized void requireNotOver() throws SQLException {
    if (isOver) {
      throw new SQLException(
          "the handler of "
              + notification
              + " has no transaction any more: it has ended, or was cut off when its time or its"
              + " lease was over, or the listener stopped",
          CONNECTION_DOES_NOT_EXIST);
    }
  }

  /** Whether the handler has used it. */
  public boolean isUsed() {
    return begun != null;
  }

  /** Commits what the handler did. */
  public void commit() throws SQLException {
    requireNotOver();
    requireNotFailed();
    if (isUsed()) {
      var unused = commitWith(transaction -> true);
    }
  }

  /**
   * Does the work and commits it together with what the handler did; in a transaction of its own if
   * the handler used none.
   */
  public <R> R commitWith(Transactions.Work<R> work) throws SQLException {
    requireNotOver();
    requireNotFailed();
    var used = begun;
    if (used == null) {
      return context.transactions().run(work);
    }
    used.guarded().seal();
    var result = work.on(used.connection());
    used.connection().commit();
    try {
      var unused = used.guarded().restoreSession(used.idleTimeout());
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: a handler changed its session's settings, and they could not be set back ({}); the connection is closed",
          Failures.inWords(e));
      LostConnection.abandon(used.connection());
    }
    return result;
  }

  /** Closes the connection while the handler runs, and gives it none from now on. */
  public void cutOff() {
    var open = end(true);
    if (open != null) {
      LostConnection.abandon(open);
    }
  }

  private synchronized @Nullable Connection end(boolean cutsOff) {
    isOver = true;
    isCutOff |= cutsOff;
    return connection;
  }

  private synchronized boolean isCutOff() {
    return isCutOff;
  }

  @Override
  public void close() throws SQLException {
    var open = end(false);
    if (open == null) {
      return;
    }
    try (open) {
      var used = begun;
      if (used != null) {
        used.guarded().revoke();
      }
      if (isCutOff() || (used != null && used.guarded().isLost())) {
        LostConnection.giveBack(open);
        return;
      }
      open.rollback();
      if (used != null) {
        used.taken().restore();
      }
    }
  }
}
