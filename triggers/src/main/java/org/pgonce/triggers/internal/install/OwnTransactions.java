package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.store.Installation;

/** Short transactions one after the other, on a connection of their own. */
public final class OwnTransactions implements AutoCloseable {

  private final Connection connection;
  private final boolean autoCommit;

  public OwnTransactions(DataSource dataSource) throws SQLException {
    connection = dataSource.getConnection();
    autoCommit = connection.getAutoCommit();
    connection.setAutoCommit(false);
  }

  /** Statements of one transaction. */
  @FunctionalInterface
  public interface Work {
    void on(Connection transaction) throws SQLException;
  }

  /** Runs the work and commits it; rolled back if it throws. */
  public void run(Work work) throws SQLException {
    @Nullable Throwable failure = null;
    try {
      Installation.bound(connection);
      work.on(connection);
      connection.commit();
    } catch (SQLException | RuntimeException e) {
      failure = e;
      throw e;
    } finally {
      if (failure != null) {
        rollBack();
      }
    }
  }

  /** A connection that does not roll back is one that has ended, which rolls it back. */
  private void rollBack() {
    try {
      connection.rollback();
    } catch (SQLException ended) {
      // What failed before says more.
    }
  }

  @Override
  public void close() throws SQLException {
    try (connection) {
      connection.setAutoCommit(autoCommit);
    }
  }
}
