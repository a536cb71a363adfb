package org.pgonce.internal.deliver;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.Context;

/**
 * A handler's transaction where there is no claim to share: begun by its first use, committed after
 * the handler.
 */
final class OwnTransaction implements AutoCloseable {

  private final Context context;
  private final Duration longestCall;
  private volatile @Nullable Connection connection;
  private PoolSettings.@Nullable Taken taken;
  private @Nullable GuardedConnection guarded;

  /**
   * @param longestCall the most that the driver waits for one answer of the server
   */
  OwnTransaction(Context context, Duration longestCall) {
    this.context = context;
    this.longestCall = longestCall;
  }

  /** The guarded connection, begun if it is not yet. */
  Connection connection() throws SQLException {
    if (guarded == null) {
      var begun = context.dataSource().getConnection();
      connection = begun;
      taken = context.pool().take(begun, longestCall);
      taken.begin();
      guarded = GuardedConnection.over(begun);
    }
    return guarded.connection();
  }

  void commit() throws SQLException {
    if (guarded != null && connection != null) {
      guarded.seal();
      connection.commit();
    }
  }

  /** Closes the connection under the handler's hands: it overran its time. */
  void abort() {
    var open = connection;
    if (open != null) {
      try {
        open.abort(context.threads()::run);
      } catch (SQLException e) {
        // It is gone already, which is what was wanted.
      }
    }
  }

  @Override
  public void close() throws SQLException {
    if (connection != null) {
      try (var ends = connection) {
        if (guarded != null) {
          guarded.revoke();
        }
        if (guarded != null && guarded.isLost()) {
          LostConnection.abandon(ends);
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
