package org.pgonce.spring.internal.transaction;

import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Knows which connections are those of Spring's current transaction, and whether it has ended. What
 * is published elsewhere, or behind the end, nothing would commit: Spring binds connections of
 * other data sources for as long as a transaction lasts, and has its own still bound, and takes it
 * for active, while the callbacks of its completion run.
 */
public final class TransactionEnd implements TransactionSynchronization {

  private final List<ConnectionHolder> connections;
  private boolean ended;

  private TransactionEnd(List<ConnectionHolder> connections) {
    this.connections = connections;
  }

  /**
   * Whether it was bound when the thread's transaction began. So it is where nobody has seen that:
   * in a listener, or without the starters.
   */
  public static boolean isOfTransaction(ConnectionHolder holder) {
    var known = current().toList();
    return known.isEmpty() || known.stream().anyMatch(one -> one.connections.contains(holder));
  }

  /** Whether the thread's transaction is behind its commit or rollback. */
  public static boolean isBehind() {
    // Taken away before the callbacks of the completion.
    return !TransactionSynchronizationManager.isSynchronizationActive()
        || current().anyMatch(one -> one.ended);
  }

  private static Stream<TransactionEnd> current() {
    return TransactionSynchronizationManager.getSynchronizations().stream()
        .filter(TransactionEnd.class::isInstance)
        .map(TransactionEnd.class::cast);
  }

  /** Has one for each transaction. */
  public static final class Witness implements TransactionExecutionListener {

    @Override
    public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
      if (failure == null && TransactionSynchronizationManager.isSynchronizationActive()) {
        var bound = TransactionSynchronizationManager.getResourceMap().values();
        TransactionSynchronizationManager.registerSynchronization(
            new TransactionEnd(
                bound.stream()
                    .filter(ConnectionHolder.class::isInstance)
                    .map(ConnectionHolder.class::cast)
                    .toList()));
      }
    }
  }

  /** The first to hear of the commit. */
  @Override
  public int getOrder() {
    return Ordered.HIGHEST_PRECEDENCE;
  }

  @Override
  public void afterCommit() {
    ended = true;
  }
}
