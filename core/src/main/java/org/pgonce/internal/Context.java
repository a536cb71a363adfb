package org.pgonce.internal;

import javax.sql.DataSource;
import org.pgonce.Publisher;
import org.pgonce.internal.deliver.PoolSettings;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/** What the stations of one listener share. */
public record Context(
    DataSource dataSource,
    PoolSettings pool,
    PayloadCodec codec,
    Observer observer,
    Threads threads) {

  public Transactions transactions() {
    return new Transactions(dataSource, pool);
  }

  public Publisher publisher() {
    return Publisher.with(codec);
  }
}
