package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.store.Installation;
import org.pgonce.internal.store.PinnedPath;

/** Short transactions that drop, each on its own connection of the data source. */
public final class OwnTransactions {

  private static final Duration LONGEST_CALL = Duration.ofHours(1);

  private final Transactions transactions;

  public OwnTransactions(DataSource dataSource) {
    this.transactions = new Transactions(dataSource, LONGEST_CALL);
  }

  /** Statements of one transaction. */
  @FunctionalInterface
  public interface Work {
    void on(Connection transaction) throws SQLException;
  }

  /** Runs the work and commits it; rolled back if it throws. Each lock is waited for 10 s. */
  public void run(Work work) throws SQLException {
    transactions.make(
        transaction -> {
          PinnedPath.pin(transaction);
          Installation.bound(transaction);
          work.on(transaction);
        });
  }
}
