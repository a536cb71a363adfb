package org.pgonce.spring.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.pgonce.Tx;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.jdbc.datasource.ConnectionHandle;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Hands the handler's connection to whatever asks Spring for one of the data source: JdbcTemplate,
 * jOOQ, MyBatis, transaction managers. It is asked for when it is needed first: in some modes that
 * begins the transaction.
 */
final class JoinedJdbc implements JoinedResource {

  private final DataSource dataSource;

  JoinedJdbc(DataSource dataSource) {
    this.dataSource = dataSource;
  }

  /** What transaction managers go by. */
  static DataSource target(DataSource dataSource) {
    return dataSource instanceof TransactionAwareDataSourceProxy proxy
        ? Objects.requireNonNull(proxy.getTargetDataSource(), "its target")
        : dataSource;
  }

  @Override
  public List<Bound> bind(Tx tx) {
    var holder = new Holder(tx);
    TransactionSynchronizationManager.bindResource(dataSource, holder);
    return List.of(bound(holder));
  }

  private Bound bound(Holder holder) {
    return new Bound() {
      @Override
      public boolean isRollbackOnly() {
        return holder.isRollbackOnly();
      }

      @Override
      public boolean isUsed() {
        return false; // pgonce takes the connection back itself
      }

      @Override
      public void flush() {}

      @Override
      public void unbind() {
        TransactionSynchronizationManager.unbindResourceIfPossible(dataSource);
      }

      @Override
      public void completed(Tx.Outcome outcome) {}
    };
  }

  private static final class Holder extends ConnectionHolder {

    Holder(Tx tx) {
      super((ConnectionHandle) () -> connectionOf(tx));
      setTransactionActive(true); // so that @Transactional joins
      setSynchronizedWithTransaction(true);
    }

    private static Connection connectionOf(Tx tx) {
      try {
        return tx.connection();
      } catch (SQLException e) {
        throw new CannotGetJdbcConnectionException("the handler's transaction has none", e);
      }
    }
  }
}
