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

  /** For installations and sweeps, whose statements may take long. */
  Transactions transactions() {
    return new Transactions(dataSource, pool, Duration.ofHours(1));
  }

  /** With threads of its own, which the listener closes. */
  ListenerContext context() {
    return new ListenerContext(
        dataSource,
        pool,
        codec,
        new SafeObserver(observer),
        new Threads(),
        listening.instance(),
        new Quarantine());
  }
}
