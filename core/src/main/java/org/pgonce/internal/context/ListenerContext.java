package org.pgonce.internal.context;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.pgonce.Publisher;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/**
 * What the parts of one listener share.
 *
 * @param publisher writes with the codec
 * @param observer throws nothing
 * @param interceptors the outermost first
 * @param instance the process's name for people
 * @param quarantine for what ends processes
 * @param backends the server's processes of the sessions that handlers work in now. The heartbeat
 *     takes them to the registry, by which operators find whose process holds a notification
 */
public record ListenerContext(
    DataSource dataSource,
    PoolSettings pool,
    PayloadCodec codec,
    Publisher publisher,
    Observer observer,
    List<HandlerInterceptor> interceptors,
    Threads threads,
    String instance,
    Quarantine quarantine,
    Set<Integer> backends) {

  // What a listener asks for is a few index look-ups. Its functions give up a lock after 10 s.
  private static final Duration LONGEST_CALL = Duration.ofSeconds(30);

  public ListenerContext(
      DataSource dataSource,
      PoolSettings pool,
      PayloadCodec codec,
      Publisher publisher,
      Observer observer,
      List<HandlerInterceptor> interceptors,
      Threads threads,
      String instance) {
    this(
        dataSource,
        pool,
        codec,
        publisher,
        observer,
        interceptors,
        threads,
        instance,
        new Quarantine(),
        ConcurrentHashMap.newKeySet());
  }

  public Transactions transactions() {
    return new Transactions(dataSource, pool, LONGEST_CALL);
  }
}
