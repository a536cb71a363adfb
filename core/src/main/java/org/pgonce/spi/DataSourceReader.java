package org.pgonce.spi;

import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Reads off a data source what JDBC does not ask it for, found by {@link java.util.ServiceLoader}.
 * The module pgonce-pools brings one for the pools in use. Implementations hold no state, are safe
 * for use by several threads, and never open a connection.
 */
public interface DataSourceReader {

  /**
   * Where its connections go, so that the LISTEN connection can go there too, outside the pool.
   * Asked before each connect, so that a rotated password is picked up.
   *
   * @return the hosts of one cluster, at least one; they are tried in this order until one listens
   * @throws IllegalArgumentException if that cannot be told, saying why, what to do, and no secret
   */
  List<ListenAddress> addresses(DataSource dataSource);

  /** The most connections that it gives out at once; null if it does not say, or has no bound. */
  @Nullable Integer size(DataSource dataSource);
}
