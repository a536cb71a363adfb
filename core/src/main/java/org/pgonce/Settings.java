package org.pgonce;

import java.time.Duration;
import javax.sql.DataSource;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.context.Quarantine;
import org.pgonce.internal.context.SafeObserver;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.lifecycle.ListenSettings;
import org.pgonce.internal.operate.OperatorTransactions;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/** The settings of a {@link PgOnce} as they were when it was built. */
record Settings(
    DataSource dataSource,
    PoolSettings pool,
    PayloadCodec codec,
    Observer observer,
    ListenSettings listening,
    Duration stopTimeout) {

  /** For what a person does to channels, said to be done by this instance. */
  OperatorTransactions operating() {
    return new OperatorTransactions(transactions(), listening.instance());
  }

  /** For whoever installs and redrives: a million dead letters take their time. */
  Transactions transactions() {
    return new Transactions(dataSource, pool, Duration.ofHours(1));
  }

  /** With threads of its own, which the listener closes. */
  ListenerContext context() {
    return new ListenerContext(
        dataSource,
        pool,
        codec,
        SafeObserver.over(observer),
        new Threads(),
        listening.instance(),
        new Quarantine());
  }
}
