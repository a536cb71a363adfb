package org.pgonce.spring.internal;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.IdentityHashMap;
import java.util.function.Predicate;
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
 * @param keys what Spring looks it up by: the pool, and what is put around it
 */
record JoinedJdbc(Keys keys) implements JoinedResource {

  /** Those of the data sources it is given that are pgonce's, by identity. */
  static final class Keys {

    private final Predicate<DataSource> isOurs;
    // Of each, whether it is a transaction manager's.
    private final IdentityHashMap<DataSource, Boolean> all = new IdentityHashMap<>();

    Keys(Predicate<DataSource> isOurs) {
      this.isOurs = isOurs;
    }

    void add(DataSource key) {
      put(key, false);
    }

    void addManaged(DataSource key) {
      put(key, true);
    }

    private void put(DataSource key, boolean managed) {
      if (isOurs.test(key)) {
        all.merge(key, managed, Boolean::logicalOr);
      }
    }
  }

  @Override
  public Bound bind(Tx tx) {
    var bound = new BoundHolders(keys, tx);
    try {
      bound.bindMissing();
    } catch (RuntimeException e) {
      bound.unbind();
      throw e;
    }
    TransactionSynchronizationManager.registerSynchronization(bound);
    return bound;
  }

  /**
   * A transaction manager takes only its own holder away while it runs something apart
   * (REQUIRES_NEW, NOT_SUPPORTED). The others have no effect until that one is back, or what is
   * looked up by them would still be the handler's.
   */
  private static final class BoundHolders implements Bound, JoinedTransaction.OfResource {

    private final IdentityHashMap<DataSource, Holder> holders = new IdentityHashMap<>();

    BoundHolders(Keys keys, Tx tx) {
      keys.all.forEach((key, managed) -> holders.put(key, new Holder(managed, tx)));
    }

    /** Spring has taken those away that had no effect when it looked for them. */
    @Override
    public void resume() {
      bindMissing();
    }

    void bindMissing() {
      holders.forEach(
          (key, holder) -> {
            if (!isBound(holder)) {
              TransactionSynchronizationManager.bindResource(key, holder);
            }
          });
    }

    private boolean isBound(Holder holder) {
      return TransactionSynchronizationManager.getResourceMap().containsValue(holder);
    }

    /** JDBC keeps nothing back. */
    @Override
    public void flush() {}

    @Override
    public boolean isRollbackOnly() {
      return holders.values().stream().anyMatch(ConnectionHolder::isRollbackOnly);
    }

    /** That is all: pgonce takes the connection back itself. */
    @Override
    public void unbind() {
      holders.keySet().forEach(TransactionSynchronizationManager::unbindResourceIfPossible);
    }

    private final class Holder extends ConnectionHolder {

      private final boolean managed;

      Holder(boolean managed, Tx tx) {
        super((ConnectionHandle) () -> connectionOf(tx));
        this.managed = managed;
        setTransactionActive(true); // so that @Transactional joins
        setSynchronizedWithTransaction(true);
      }

      /** Whether Spring takes it for one that is not there. */
      @Override
      public boolean isVoid() {
        return super.isVoid()
            || holders.values().stream()
                .anyMatch(other -> other != this && other.managed && !isBound(other));
      }
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
