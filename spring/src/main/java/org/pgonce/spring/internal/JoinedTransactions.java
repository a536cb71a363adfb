package org.pgonce.spring.internal;

import java.util.List;
import org.pgonce.spi.HandlerInterceptor;
import org.springframework.core.Ordered;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Makes a handler's transaction Spring's current one while the handler runs. Interceptors of a
 * lower order are outside of it, all others inside.
 */
final class JoinedTransactions implements HandlerInterceptor, Ordered {

  private final List<JoinedResource> resources;

  JoinedTransactions(List<JoinedResource> resources) {
    this.resources = List.copyOf(resources);
  }

  @Override
  public int getOrder() {
    return 0;
  }

  @Override
  public void around(Call call) throws Exception {
    if (TransactionSynchronizationManager.isSynchronizationActive()) {
      throw new IllegalTransactionStateException(
          "a handler of pgonce was called within a transaction of Spring ("
              + TransactionSynchronizationManager.getCurrentTransactionName()
              + "), which it cannot join: it has one of its own");
    }
    var first = call.notifications().get(0);
    var transaction = new JoinedTransaction(first.channel() + "/" + first.subscription());
    try {
      transaction.begin(resources, call.tx());
      call.proceed();
      transaction.beforeCommit();
    } finally {
      transaction.end(call.tx());
    }
  }
}
