package org.pgonce.pools;

import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.DataSourceReader;
import org.pgonce.spi.ListenAddress;

/** Reads the pools in use and the drivers' own data sources. Found by ServiceLoader. */
public final class PoolReader implements DataSourceReader {

  /** For ServiceLoader. */
  public PoolReader() {}

  @Override
  public List<ListenAddress> addresses(DataSource dataSource) {
    return PoolAddresses.of(WatchedDataSource.behind(dataSource));
  }

  @Override
  public @Nullable Integer size(DataSource dataSource) {
    return KnownDataSources.size(WatchedDataSource.behind(dataSource));
  }
}
