package org.pgonce.spring.internal;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.Tx;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionSynchronizationUtils;

/**
 * One run of a handler, as a transaction of Spring that another begins and ends. Belongs to the
 * handler's thread.
 */
final class JoinedTransaction {

  private static final Logger LOG = LoggerFactory.getLogger(JoinedTransaction.class);

  private final String name;
  private final List<JoinedResource.Bound> bound = new ArrayList<>();
  private List<TransactionSynchronization> synchronizations = List.of();
  private boolean beforeCompletionRan;

  JoinedTransaction(String name) {
    this.name = name;
  }

  void begin(List<JoinedResource> resources, Tx tx) {
    TransactionSynchronizationManager.initSynchronization();
    TransactionSynchronizationManager.setActualTransactionActive(true);
    TransactionSynchronizationManager.setCurrentTransactionName(name);
    for (var resource : resources) {
      bound.add(resource.bind(tx));
    }
  }

  /**
   * Does what Spring does before a commit.
   *
   * @throws UnexpectedRollbackException if a part of the work was rolled back
   */
  void beforeCommit() {
    requireNotRolledBack();
    TransactionSynchronizationUtils.triggerBeforeCommit(false);
    beforeCompletion();
    bound.forEach(JoinedResource.Bound::flush);
    requireNotRolledBack();
  }

  /** Its work is a part of the transaction still. It throws nothing. */
  private void beforeCompletion() {
    if (!beforeCompletionRan) {
      beforeCompletionRan = true;
      TransactionSynchronizationUtils.triggerBeforeCompletion();
    }
  }

  private void requireNotRolledBack() {
    if (bound.stream().anyMatch(JoinedResource.Bound::isRollbackOnly)) {
      throw new UnexpectedRollbackException(
          "the listener of "
              + name
              + " returned, but a @Transactional method or a flush within it had failed and marked the transaction for rollback. Instead: let the exception through; or give that method REQUIRES_NEW if its failure is no failure of the listener");
    }
  }

  /** Takes everything from the thread; behind it the thread is as it was. */
  void end(Tx tx) {
    try {
      beforeCompletion();
      synchronizations =
          TransactionSynchronizationManager.getSynchronizations().stream()
              .filter(one -> !(one instanceof OfResource))
              .toList();
    } finally {
      for (var resource : bound) {
        quietly(resource::unbind);
      }
      TransactionSynchronizationManager.clear();
    }
    // A callback keeps pgonce from claiming what is next together with the commit.
    if (!synchronizations.isEmpty() || bound.stream().anyMatch(JoinedResource.Bound::isUsed)) {
      tx.afterCompletion(this::completed);
    } else {
      completed(Tx.Outcome.ROLLED_BACK); // of nothing
    }
  }

  /** A synchronization that does not wait for the transaction's end. */
  interface OfResource extends TransactionSynchronization {}

  /** Does what Spring does after a commit or rollback. */
  void completed(Tx.Outcome outcome) {
    for (var resource : bound) {
      quietly(() -> resource.completed(outcome));
    }
    try {
      if (outcome == Tx.Outcome.COMMITTED) {
        TransactionSynchronizationUtils.invokeAfterCommit(synchronizations);
      }
    } finally {
      TransactionSynchronizationUtils.invokeAfterCompletion(synchronizations, status(outcome));
    }
  }

  /** The others are to be ended, too. */
  private void quietly(Runnable ending) {
    try {
      ending.run();
    } catch (RuntimeException | Error e) {
      LOG.warn("pgonce: a session of {} could not be ended cleanly", name, e);
    }
  }

  private static int status(Tx.Outcome outcome) {
    return switch (outcome) {
      case COMMITTED -> TransactionSynchronization.STATUS_COMMITTED;
      case ROLLED_BACK -> TransactionSynchronization.STATUS_ROLLED_BACK;
      case UNKNOWN -> TransactionSynchronization.STATUS_UNKNOWN;
    };
  }
}
