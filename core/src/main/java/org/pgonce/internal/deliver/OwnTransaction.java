package org.pgonce.internal.deliver;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.Context;
import org.pgonce.internal.settle.Failures;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A handler's transaction where there is no claim to share: begun by its first use, committed after
 * the handler. {@link #connection} is for any thread of the handler, {@link #cutOff} for whoever
 * cuts it off.
 */
final class OwnTransaction implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(OwnTransaction.class);
  private static final String CONNECTION_DOES_NOT_EXIST = "08003";

  private final Context context;
  private final Duration longestCall;
  private final ReentrantLock beginning = new ReentrantLock();
  private PoolSettings.@Nullable Taken taken;
  private volatile @Nullable GuardedConnection guarded;

  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable Connection connection;
  private boolean isCutOff;
  private boolean isOver;

  /**
   * @param longestCall the most that the driver waits for one answer of the server
   */
  OwnTransaction(Context context, Duration longestCall) {
    this.context = context;
    this.longestCall = longestCall;
  }

  /**
   * The guarded connection, begun if it is not yet.
   *
   * @throws SQLException if the handler has ended or been cut off
   */
  Connection connection() throws SQLException {
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
    taken = context.pool().take(begun, longestCall);
    taken.begin();
    return GuardedConnection.over(begun);
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

  void commit() throws SQLException {
    requireNotOver();
    var used = guarded;
    if (used != null && connection != null) {
      used.seal();
      connection.commit();
      restoreSession(used, connection);
    }
  }

  private static void restoreSession(GuardedConnection used, Connection connection) {
    try {
      used.restoreSession(null);
    } catch (SQLException e) {
      LOG.warn(
          "pgonce: a broadcast's handler changed its session's settings, and they could not be set back ({}); the connection is closed",
          Failures.inWords(e));
      LostConnection.abandon(connection);
    }
  }

  private void requireNotOver() throws SQLException {
    lock.lock();
    try {
      if (isOver) {
        throw new SQLException(
            "the handler of a broadcast has no transaction any more: it has ended, or was cut off"
                + " when its time was over or the listener stopped",
            CONNECTION_DOES_NOT_EXIST);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Closes the connection under the handler's hands, and gives it none from now on. */
  void cutOff() {
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
