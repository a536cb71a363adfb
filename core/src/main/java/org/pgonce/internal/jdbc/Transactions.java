package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Short transactions of pgonce's own, whatever state the data source hands its connections out in.
 * Thread-safe.
 */
public final class Transactions {

  private static final Logger LOG = LoggerFactory.getLogger(Transactions.class);

  // A shorter idle bound of the session's stays, and so does remote_apply.
  private static final String BOUND =
      """
      SELECT %s AS modes,
             CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout')::pg_catalog.interval
                       NOT BETWEEN INTERVAL '1 microsecond' AND INTERVAL '30 seconds'
               THEN pg_catalog.set_config('idle_in_transaction_session_timeout', '30s', true) END,
             CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.<>) 'remote_apply'
               THEN pg_catalog.set_config('synchronous_commit', 'on', true) END,
             %s
      """
          .formatted(PoolSettings.COLUMN, PoolSettings.CLIENT_CHECK);

  private static final String NAME_OPERATOR =
      "SELECT pg_catalog.set_config('pgonce.operator', ?, true)";

  private final DataSource dataSource;
  private final PoolSettings pool;
  private final Duration longestCall;

  public Transactions(DataSource dataSource, PoolSettings pool, Duration longestCall) {
    this.dataSource = dataSource;
    this.pool = pool;
    this.longestCall = longestCall;
  }

  /** With pool settings of its own. */
  public Transactions(DataSource dataSource, Duration longestCall) {
    this(dataSource, new PoolSettings(), longestCall);
  }

  /** As {@link NamedStatements#problem}. */
  public @Nullable String namedStatementsProblem() throws SQLException {
    return pool.namedStatements().problem(dataSource);
  }

  /**
   * Sets the name under which {@code pgonce.operation_log} keeps what the transaction changes,
   * until its end.
   */
  public static void nameOperator(Connection transaction, String name) throws SQLException {
    Statements.execute(transaction, NAME_OPERATOR, name);
  }

  @FunctionalInterface
  public interface Work<R> {
    R on(Connection transaction) throws SQLException;
  }

  /** Statements of one transaction, without a result. */
  @FunctionalInterface
  public interface Change {
    void on(Connection transaction) throws SQLException;
  }

  /** Makes the change in a transaction and commits it; rolled back if it throws. */
  public void make(Change change) throws SQLException {
    var unused =
        run(
            transaction -> {
              change.on(transaction);
              return true;
            });
  }

  /**
   * Runs work that locks something, or that must not be lost once committed, and commits it. It is
   * READ COMMITTED from its first statement on. Its commit is synchronous, whatever the default is.
   * If its process freezes before the COMMIT is sent, its locks are free after 30 s. One round trip
   * more than {@link #run}.
   */
  public <R> R runBounded(Work<R> work) throws SQLException {
    return run(
        transaction -> {
          PoolSettings.Taken.requireFit(
              Statements.row(transaction, BOUND, row -> row.getString("modes")));
          return work.on(transaction);
        });
  }

  /**
   * Runs the work in a transaction and commits it; rolled back if it throws. If its statements lock
   * anything, they bound how long the session may idle before the COMMIT.
   */
  public <R> R run(Work<R> work) throws SQLException {
    return LostConnection.told(() -> runOnce(work));
  }

  private <R> R runOnce(Work<R> work) throws SQLException {
    var borrowed = Borrowed.from(dataSource);
    try {
      var connection = borrowed.connection();
      var taken = pool.take(connection, longestCall);
      try {
        var result =
            taken.begin(
                () -> {
                  var done = work.on(connection);
                  connection.commit();
                  return done;
                });
        restore(connection, taken);
        return result;
      } catch (SQLException | RuntimeException | Error e) {
        // Behind an Error the driver may be amid a message.
        if (e instanceof Error || (e instanceof SQLException sql && LostConnection.isLikely(sql))) {
          LostConnection.abandon(connection);
        } else {
          rollBack(connection, taken);
        }
        throw e;
      }
    } finally {
      giveBack(borrowed);
    }
  }

  /** What was committed or rolled back by then stays so, whatever the pool says. */
  private static void giveBack(Borrowed borrowed) {
    try {
      borrowed.close();
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: a connection could not be given back", e);
    }
  }

  private static void rollBack(Connection connection, PoolSettings.Taken taken) {
    try {
      connection.rollback();
    } catch (SQLException | RuntimeException e) {
      // Not added to the failure as suppressed: pgjdbc-ng throws the same exception object for
      // every closed connection, and it would grow.
      LOG.debug("pgonce: after a failure the transaction could not be rolled back", e);
    }
    restore(connection, taken);
  }

  /** What was committed or rolled back by then stays so, whatever becomes of the connection. */
  private static void restore(Connection connection, PoolSettings.Taken taken) {
    try {
      taken.restore();
    } catch (SQLException | RuntimeException e) {
      LOG.debug("pgonce: a connection that could not be given back as it came is closed", e);
      LostConnection.abandon(connection);
    }
  }
}
