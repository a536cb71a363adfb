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
 * Safe for use by several threads.
 */
public final class Transactions {

  private static final Logger LOG = LoggerFactory.getLogger(Transactions.class);

  // A shorter bound of the session's stays. The work may wait for a lock with others in its hands,
  // and its process may be killed meanwhile. What such a transaction has said is said for good (a
  // call has begun, a person has decided): a crash of the server does not take its commit back.
  private static final String BOUND =
      """
      SELECT %s,
             CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout')::pg_catalog.interval
                       NOT BETWEEN INTERVAL '1 microsecond' AND INTERVAL '30 seconds'
               THEN pg_catalog.set_config('idle_in_transaction_session_timeout', '30s', true) END,
             CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.<>) 'remote_apply'
               THEN pg_catalog.set_config('synchronous_commit', 'on', true) END,
             %s
      """
          .formatted(PoolSettings.COLUMN, ClientCheck.COLUMN);

  private final DataSource dataSource;
  private final PoolSettings pool;
  private final Duration longestCall;

  /**
   * @param longestCall the most that the driver waits for one answer of the server
   */
  public Transactions(DataSource dataSource, PoolSettings pool, Duration longestCall) {
    this.dataSource = dataSource;
    this.pool = pool;
    this.longestCall = longestCall;
  }

  /** The same over a pool that nothing is known of yet. */
  public Transactions(DataSource dataSource, Duration longestCall) {
    this(dataSource, new PoolSettings(), longestCall);
  }

  /**
   * Why a statement that the driver has named, such as COMMIT, may be another one here, and what to
   * set; null if it is its own.
   *
   * @throws SQLException as {@link NamedStatements#problem}
   */
  public @Nullable String namedStatementsProblem() throws SQLException {
    return pool.namedStatements().problem(dataSource);
  }

  /** Statements of one transaction. */
  @FunctionalInterface
  public interface Work<R> {
    R on(Connection transaction) throws SQLException;
  }

  /** Statements of one transaction that give nothing back. */
  @FunctionalInterface
  public interface Change {
    void on(Connection transaction) throws SQLException;
  }

  /** As {@link PoolSettings#text}. */
  public String text(String sql) {
    return pool.text(sql);
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
   * The same for work that locks and sets no bound itself: a process that freezes before its COMMIT
   * is sent keeps its locks for 30 s. And for work that must be READ COMMITTED from its first
   * statement on, whatever the data source has as its default. Its commit is synchronous, whatever
   * the default of synchronous_commit is. One round trip more.
   */
  public <R> R runBounded(Work<R> work) throws SQLException {
    return run(
        transaction -> {
          try (var statement = transaction.createStatement();
              var row = statement.executeQuery(text(BOUND))) {
            row.next();
            PoolSettings.Taken.requireFit(row.getString(1));
          }
          return work.on(transaction);
        });
  }

  /**
   * Runs the work in a transaction and commits it; rolled back if it throws. Its statements bound
   * how long the session may idle before the COMMIT, if they lock anything.
   */
  public <R> R run(Work<R> work) throws SQLException {
    try (var connection = dataSource.getConnection()) {
      var taken = pool.take(connection, longestCall);
      try {
        var result = run(work, connection, taken);
        taken.restore();
        return result;
      } catch (SQLException | RuntimeException e) {
        if (LostConnection.isToldBy(e)) {
          LostConnection.abandon(connection);
        } else {
          rollBack(connection, taken);
        }
        throw e;
      }
    }
  }

  private static <R> R run(Work<R> work, Connection connection, PoolSettings.Taken taken)
      throws SQLException {
    taken.begin();
    try {
      var result = work.on(connection);
      connection.commit();
      return result;
    } catch (SQLException e) {
      if (!taken.mustBeginAgain(e)) {
        throw e;
      }
      connection.rollback();
    }
    taken.begin();
    var result = work.on(connection);
    connection.commit();
    return result;
  }

  private static void rollBack(Connection connection, PoolSettings.Taken taken) {
    try {
      connection.rollback();
      taken.restore();
    } catch (SQLException e) {
      // Never added to the failure as suppressed: pgjdbc-ng throws the same exception object for
      // every closed connection, and it would grow.
      LOG.debug("pgonce: after a failure the connection could not be given back as it came", e);
    }
  }
}
