package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.jdbc.PreferQueryMode;

/**
 * Finds out whether the statements that the driver has named are its own. pgjdbc names what it runs
 * for the fifth time, BEGIN, COMMIT and ROLLBACK as well. A transaction-mode pooler gives each
 * transaction another session of the server, where the same name is another client's statement:
 * {@code commit()} returns, and the server has rolled back. One per data source; thread-safe.
 */
public final class NamedStatements {

  private static final String WHAT_TO_DO =
      "Set prepareThreshold=0 in the JDBC URL of the data source (pgjdbc), or have the pooler track"
          + " prepared statements (PgBouncer 1.21 or newer with max_prepared_statements > 0), or use"
          + " pool_mode=session, or connect the data source to the server itself; see docs/connections.md";

  private static final String PROBLEM =
      "a transaction-mode pooler such as PgBouncer stands before the data source, and its driver"
          + " names prepared statements, which are other clients' statements there: a commit may"
          + " be none, so that a handler or a guarded call begins twice, and a handler's own"
          + " statement may be another one. "
          + WHAT_TO_DO;

  private static final String CANNOT_TELL =
      "a connection pooler stands before the data source, and its driver names prepared statements."
          + " In transaction mode these are other clients' statements; to tell the mode takes two"
          + " connections of the data source at the same time, and it gave one (%s). Let it give two. Or: "
          + WHAT_TO_DO;

  private static final int ROUNDS = 5;

  // Finds itself by its text. A pooler that tracks statements has given it another name.
  private static final String OWN_NAME =
      """
      SELECT pg_catalog.bool_and(p.name !~ '^S_[0-9]+$')
        FROM pg_catalog.pg_prepared_statements AS p
       WHERE pg_catalog.strpos(p.statement, 'pgonce asks for its own name') > 0
      """;

  private final ReentrantLock lock = new ReentrantLock();
  private volatile boolean fit;

  /**
   * What is wrong and what to set; null if nothing is, which is asked only once. Takes a connection
   * and one round trip; behind a pooler, where statements are named, a second connection at the
   * same time and some round trips more.
   *
   * @throws SQLException if that cannot be asked now; of class 08 if the data source gave no second
   *     connection
   */
  public @Nullable String problem(DataSource dataSource) throws SQLException {
    if (fit) {
      return null;
    }
    // One at a time: two that have one connection each would wait for the other's.
    lock.lock();
    try (var connection = dataSource.getConnection()) {
      PoolSettings.requireOwn(connection);
      fit = fit || autoCommitting(connection, () -> isFit(connection, dataSource));
      return fit ? null : PROBLEM;
    } finally {
      lock.unlock();
    }
  }

  /** Each statement is a transaction of its own, without a BEGIN that may be named. */
  private static boolean autoCommitting(Connection connection, SqlCall<Boolean> question)
      throws SQLException {
    if (connection.getAutoCommit()) {
      return question.call();
    }
    connection.setAutoCommit(true);
    try {
      return question.call();
    } finally {
      connection.setAutoCommit(false);
    }
  }

  private static boolean isFit(Connection connection, DataSource dataSource) throws SQLException {
    var greeting = greetingPid(connection);
    if (greeting == null || namesNone(connection)) {
      return true;
    }
    var session = session(connection);
    if (session == greeting) {
      return true; // a pooler greets its clients with numbers of its own
    }
    try (var other = second(dataSource)) {
      return !autoCommitting(other, () -> changesSessions(connection, session, other))
          || areTracked(connection);
    }
  }

  private static Connection second(DataSource dataSource) throws SQLException {
    try {
      return dataSource.getConnection();
    } catch (SQLException e) {
      throw new SQLTransientConnectionException(CANNOT_TELL.formatted(e.getMessage()), "08003", e);
    }
  }

  /** The process id by which the server, or a pooler, greeted the driver; null if not known. */
  private static @Nullable Integer greetingPid(Connection connection) throws SQLException {
    if (connection.isWrapperFor(PGConnection.class)) {
      return connection.unwrap(PGConnection.class).getBackendPID();
    }
    return PgjdbcNg.made(connection) ? PgjdbcNg.greetingPid(connection) : null;
  }

  private static boolean namesNone(Connection connection) throws SQLException {
    if (PgjdbcNg.made(connection)) {
      return false;
    }
    var pgjdbc = connection.unwrap(PGConnection.class);
    return pgjdbc.getPrepareThreshold() == 0
        || pgjdbc.getPreferQueryMode() == PreferQueryMode.SIMPLE;
  }

  /**
   * Whether a connection has several sessions, or two have the same one. A pooler hands out the
   * session that was given back last, which both get then; or first, which is another one each
   * time; or any, which so many questions find out.
   */
  private static boolean changesSessions(Connection one, int session, Connection other)
      throws SQLException {
    var others = session(other);
    for (var round = 0; round < ROUNDS; round++) {
      if (session == others
          || session(one) != session
          || session(one) != session
          || session(other) != others) {
        return true;
      }
    }
    return false;
  }

  /** The server's process, by a plain statement, which is never named. */
  private static int session(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
      row.next();
      return row.getInt(1);
    }
  }

  /** Whether a pooler between keeps the driver's names apart from other clients'. */
  private static boolean areTracked(Connection connection) throws SQLException {
    if (PgjdbcNg.made(connection)) {
      return false;
    }
    try (var statement = connection.prepareStatement(OWN_NAME)) {
      statement.unwrap(PGStatement.class).setPrepareThreshold(1);
      try (var row = statement.executeQuery()) {
        return row.next() && row.getBoolean(1);
      }
    } catch (SQLException e) {
      if (LostConnection.isToldBy(e)) {
        throw e;
      }
      return false; // the name was another client's
    } catch (RuntimeException e) {
      // The answer was not to what the driver had asked: it has lost its place.
      LostConnection.abandon(connection);
      return false;
    }
  }
}
