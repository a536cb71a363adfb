package org.pgonce.operations.internal.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.Function;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * One connection and its transactions, each with its bounds. For one thread; {@link #close} may
 * come from another.
 */
public final class Database implements AutoCloseable {

  // In each transaction, and not for the session: behind a pooler the session is others' too.
  private static final String BOUNDS =
      "SELECT pg_catalog.set_config('statement_timeout', ?, true), pg_catalog.set_config('lock_timeout', ?, true)";

  // By the server and not by the connection, which pgjdbc-ng lets nobody tell any more by then.
  private static final String READ_ONLY =
      ", pg_catalog.set_config('transaction_read_only', 'on', true)";

  // Else a function or an operator that another role made in a schema of the session's path, such
  // as public, could be the better match, and run with the rights of the person on call.
  private static final String PINNED_PATH =
      ", pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";

  private final Connection connection;
  private final int statementSeconds;
  private final int lockSeconds;
  private final Function<SQLException, RefusedException> inWords;

  private Database(
      Connection connection,
      int statementSeconds,
      int lockSeconds,
      Function<SQLException, RefusedException> inWords) {
    this.connection = connection;
    this.statementSeconds = statementSeconds;
    this.lockSeconds = lockSeconds;
    this.inWords = inWords;
  }

  /**
   * The caller closes it.
   *
   * @param inWords what a failure means for the person who asked, and what to do
   * @throws RefusedException if there is no connection
   */
  public static Database open(
      DataSource source,
      int statementSeconds,
      int lockSeconds,
      Function<SQLException, RefusedException> inWords) {
    try {
      var connection = source.getConnection();
      try {
        if (connection.isReadOnly()) {
          connection.setReadOnly(false);
        }
        connection.setAutoCommit(false);
        return new Database(connection, statementSeconds, lockSeconds, inWords);
      } catch (SQLException e) {
        connection.close();
        throw e;
      }
    } catch (SQLException e) {
      throw inWords.apply(e);
    }
  }

  /** What is done in one transaction. */
  @FunctionalInterface
  public interface Work<R> {
    R on(Statements statements) throws SQLException;
  }

  /** In a transaction that may only read. Names lead to pg_catalog. */
  public <R> R read(Work<R> work) {
    return transaction(true, BOUNDS + READ_ONLY + PINNED_PATH, work);
  }

  /**
   * As {@link #read}, but names lead where the session's own path leads: for tables as a person
   * names them. The SQL must name all else in full, operators too.
   */
  public <R> R readInOwnPath(Work<R> work) {
    return transaction(true, BOUNDS + READ_ONLY, work);
  }

  /** One query in a transaction that may only read. */
  public Rows read(String sql, @Nullable String... parameters) {
    return read(statements -> statements.rows(sql, parameters));
  }

  /**
   * In a transaction that is committed. Names lead to pg_catalog.
   *
   * @param undone it is rolled back instead
   */
  public <R> R write(boolean undone, Work<R> work) {
    return transaction(undone, BOUNDS + PINNED_PATH, work);
  }

  private <R> R transaction(boolean undone, String bounds, Work<R> work) {
    try {
      try {
        var statements = new Statements(connection);
        statements.rows(bounds, statementSeconds + "s", lockSeconds + "s");
        var result = work.on(statements);
        if (undone) {
          connection.rollback();
        } else {
          commit();
        }
        return result;
      } catch (SQLException | RuntimeException e) {
        rollBack(e);
        throw e;
      }
    } catch (SQLException e) {
      throw inWords.apply(e);
    }
  }

  /** A connection that is lost at that moment leaves it open whether the server has committed. */
  private void commit() throws SQLException {
    try {
      connection.commit();
    } catch (SQLException e) {
      if (String.valueOf(e.getSQLState()).startsWith("08")) {
        throw new SQLException(
            "the connection was lost at the commit, so it is not known whether it was done: look into the operation log (pgonce.operation_log) before you do it again",
            "08007",
            e);
      }
      throw e;
    }
  }

  private void rollBack(Exception because) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      because.addSuppressed(e); // the connection is lost, as the first failure says
    }
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException e) {
      throw inWords.apply(e);
    }
  }
}
