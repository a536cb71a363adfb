package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that the server or the network has ended. It must not be used any more, not even to
 * roll back: with pgjdbc-ng 0.8.9 a request between the server's last message and the end of its
 * connection may wait for ever.
 */
public final class LostConnection {

  private static final Logger LOG = LoggerFactory.getLogger(LostConnection.class);

  private static final String ENDED = "08006";

  // pgjdbc: the server and the settings of the login do not go together.
  private static final String LOGIN_REJECTED = "08004";

  private LostConnection() {}

  /**
   * Whether a failure says that the connection, not the statement, has failed: SQLState class 08,
   * or the server ended the session (57P01 to 57P05; 25P03 and 25P04, the idle and the transaction
   * timeout). A foreign table or dblink may say so of another server. pgjdbc-ng 0.8.9 says 8001 for
   * 08001.
   */
  public static boolean isToldBy(@Nullable Throwable failure) {
    var state = failure instanceof SQLException sql ? sql.getSQLState() : null;
    return state != null
        && (state.startsWith("08")
            || state.startsWith("57P")
            || state.equals("8001")
            || state.equals("25P03")
            || state.equals("25P04"));
  }

  /**
   * Whether the connection may have ended: also if the failure has no SQLState, and so is not the
   * server's. pgjdbc-ng gives none when a connection is reset.
   */
  public static boolean isLikely(SQLException failure) {
    return failure.getSQLState() == null || isToldBy(failure);
  }

  /**
   * Whether that it could not connect may pass without anyone changing anything. DBCP2 wraps what
   * the driver says in an exception without SQLState.
   */
  public static boolean mayPass(SQLException failure) {
    return Failures.causes(failure)
        .filter(cause -> cause instanceof SQLException sql && sql.getSQLState() != null)
        .findFirst()
        .map(said -> isToldBy(said) && !LOGIN_REJECTED.equals(((SQLException) said).getSQLState()))
        .orElse(true);
  }

  /** Whether a commit that failed so may be done, as only its answer was lost. */
  public static boolean mayHaveCommitted(Throwable failure) {
    return !(failure instanceof SQLException sql) || isLikely(sql);
  }

  /**
   * Asks. Where a connection ends at the moment in which a statement begins, pgjdbc-ng 0.8.9 throws
   * a NullPointerException of its own: that is told as the end of the connection, so that who asks
   * tries again, or knows that the outcome is unknown.
   */
  public static <R> R told(SqlCall<R> asking) throws SQLException {
    try {
      return asking.call();
    } catch (NullPointerException e) {
      var top = e.getStackTrace();
      if (top.length == 0 || !top[0].getClassName().startsWith(PgjdbcNg.PACKAGE)) {
        throw e;
      }
      throw new SQLException("the connection ended while a statement began", ENDED, e);
    }
  }

  /**
   * Closes its socket, on the calling thread: a pool that takes it back finds it closed. Never
   * throws.
   */
  public static void abandon(Connection lost) {
    try {
      // pgjdbc has the executor close; pgjdbc-ng has it connect to cancel what has ended already.
      ofPgjdbc(lost).abort(PgjdbcNg.made(lost) ? cancel -> {} : Runnable::run);
    } catch (SQLException | RuntimeException e) {
      // What c3p0 and DBCP2 hand out throws a NullPointerException once it is closed.
      LOG.debug("pgonce: the lost connection was closed already", e);
    }
  }

  /**
   * What c3p0 hands out does not go back to the pool any more once it is aborted itself. What
   * HikariCP hands out over pgjdbc-ng does not, unless it is.
   */
  private static Connection ofPgjdbc(Connection pooled) throws SQLException {
    return pooled.isWrapperFor(PGConnection.class)
            && pooled.unwrap(PGConnection.class) instanceof Connection driver
        ? driver
        : pooled;
  }
}
