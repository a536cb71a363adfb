package org.pgonce.spring.internal.transaction;

import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Knows whether Spring's current transaction has ended: behind its commit Spring still has its
 * connection bound and takes it for active, while callbacks run. What is published then nothing
 * would commit.
 */
public final class TransactionEnd implements TransactionSynchronization {

  private boolean ended;

  private TransactionEnd() {}

  /** Whether the thread's transaction is behind its commit or rollback. */
  public static boolean isBehind() {
    // Taken away before the callbacks of the completion.
    return !TransactionSynchronizationManager.isSynchronizationActive()
        || TransactionSynchronizationManager.getSynchronizations().stream()
            .anyMatch(one -> one instanceof TransactionEnd end && end.ended);
  }

  /** Has one for each transaction. */
  public static final class Witness implements TransactionExecutionListener {

    @Override
    public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
      if (failure == null && TransactionSynchronizationManager.isSynchronizationActive()) {
        TransactionSynchronizationManager.registerSynchronization(new TransactionEnd());
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
