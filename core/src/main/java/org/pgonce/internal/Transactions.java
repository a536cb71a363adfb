package org.pgonce.internal;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.pgonce.internal.deliver.PoolSettings;

/**
 * Short transactions of pgonce's own, whatever state the data source hands its connections out in.
 * Safe for use by several threads.
 */
public final class Transactions {

  private final DataSource dataSource;
  private final PoolSettings pool;

  public Transactions(DataSource dataSource, PoolSettings pool) {
    this.dataSource = dataSource;
    this.pool = pool;
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

  /** Makes the change in a transaction and commits it; rolled back if it throws. */
  public void make(Change change) throws SQLException {
    var unused =
        run(
            transaction -> {
              change.on(transaction);
              return true;
            });
  }

  /** Runs the work in a transaction and commits it; rolled back if it throws. */
  public <R> R run(Work<R> work) throws SQLException {
    try (var connection = dataSource.getConnection()) {
      var taken = pool.take(connection);
      try {
        var result = run(work, connection, taken);
        taken.restore();
        return result;
      } catch (SQLException | RuntimeException e) {
        rollBack(connection, taken, e);
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

  private static void rollBack(Connection connection, PoolSettings.Taken taken, Exception failure) {
    try {
      connection.rollback();
      taken.restore();
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
  }
}
