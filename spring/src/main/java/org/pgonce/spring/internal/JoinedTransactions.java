package org.pgonce.spring.internal;

import org.pgonce.spi.HandlerInterceptor;
import org.springframework.core.Ordered;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Makes a handler's transaction Spring's current one while the handler runs. Interceptors of a
 * lower order are outside of it, all others inside.
 */
final class JoinedTransactions implements HandlerInterceptor, Ordered {

  private final JoinedResources resources;

  JoinedTransactions(JoinedResources resources) {
    this.resources = resources;
  }

  @Override
  public int getOrder() {
    return 0;
  }

  /** That the thread is in no transaction of Spring's. */
  static void requireNone() {
    if (TransactionSynchronizationManager.isSynchronizationActive()) {
      throw new IllegalTransactionStateException(
          "a handler of pgonce cannot run within a transaction of Spring (%s): it has one of its own, and sees nothing that is not committed. In a test: leave @Transactional out"
              .formatted(TransactionSynchronizationManager.getCurrentTransactionName()));
    }
  }

  @Override
  public void around(Call call) throws Exception {
    requireNone();
    var first = call.notifications().get(0);
    var transaction = new JoinedTransaction(first.channel() + "/" + first.subscription());
    try {
      transaction.begin(resources.all(), call.tx());
      call.proceed();
      transaction.beforeCommit();
    } finally {
      transaction.end(call.tx());
    }
  }
}
