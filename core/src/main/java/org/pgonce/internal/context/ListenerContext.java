package org.pgonce.internal.context;

import java.time.Duration;
import javax.sql.DataSource;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.spi.Observer;

/**
 * What the parts of one listener share.
 *
 * @param instance the process's name for people
 * @param quarantine for what ends processes
 * @param sessions those that handlers work in
 */
public record ListenerContext(
    DataSource dataSource,
    PoolSettings pool,
    Extensions extensions,
    Threads threads,
    String instance,
    Quarantine quarantine,
    HandlerSessions sessions) {

  // What a listener asks for is a few index look-ups, and waits for locks that last 5 s at most.
  private static final Duration LONGEST_CALL = Duration.ofSeconds(30);

  public Transactions transactions() {
    return new Transactions(dataSource, pool, LONGEST_CALL);
  }

  public Observer observer() {
    return extensions.observer();
  }
}
