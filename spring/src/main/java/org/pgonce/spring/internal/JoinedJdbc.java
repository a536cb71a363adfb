package org.pgonce.spring.internal;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.pgonce.Tx;
import org.springframework.jdbc.CannotGetJdbcConnectionException;
import org.springframework.jdbc.datasource.ConnectionHandle;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Hands the handler's connection to whatever asks Spring for one of the data source: JdbcTemplate,
 * jOOQ, MyBatis, transaction managers. It is asked for when it is needed first: in some modes that
 * begins the transaction.
 *
 * @param key what Spring looks it up by
 */
record JoinedJdbc(DataSource key) implements JoinedResource {

  @Override
  public Bound bind(Tx tx) {
    var holder = new Holder(tx);
    TransactionSynchronizationManager.bindResource(key, holder);
    return new Bound() {
      @Override
      public boolean isRollbackOnly() {
        return holder.isRollbackOnly();
      }

      /** That is all: pgonce takes the connection back itself. */
      @Override
      public void unbind() {
        TransactionSynchronizationManager.unbindResourceIfPossible(key);
      }
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
