package org.pgonce.internal.deliver;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.Context;

/**
 * A handler's transaction where there is no claim to share: begun by its first use, committed after
 * the handler. {@link #cutOff} may come from another thread; the rest is for the handler's.
 */
final class OwnTransaction implements AutoCloseable {

  private static final String CONNECTION_DOES_NOT_EXIST = "08003";

  private final Context context;
  private final Duration longestCall;
  private @Nullable GuardedConnection guarded;
  private PoolSettings.@Nullable Taken taken;

  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable Connection connection;
  private boolean isCutOff;

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
   * @throws SQLException if the handler has been cut off
   */
  Connection connection() throws SQLException {
    if (guarded == null) {
      requireNotCutOff();
      var begun = context.dataSource().getConnection();
      lock.lock();
      try {
        connection = begun; // from here on close() gives it back, whatever comes
      } finally {
        lock.unlock();
      }
      requireNotCutOff();
      taken = context.pool().take(begun, longestCall);
      taken.begin();
      guarded = GuardedConnection.over(begun);
    }
    return guarded.connection();
  }

  void commit() throws SQLException {
    requireNotCutOff();
    if (guarded != null && connection != null) {
      guarded.seal();
      connection.commit();
    }
  }

  private void requireNotCutOff() throws SQLException {
    lock.lock();
    try {
      if (isCutOff) {
        throw new SQLException(
            "the handler of a broadcast was cut off: it overran its time, or the listener stopped."
                + " It has no transaction any more",
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
    if (connection != null) {
      try (var ends = connection) {
        if (guarded != null) {
          guarded.revoke();
        }
        if (isCutOff || (guarded != null && guarded.isLost())) {
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
}
