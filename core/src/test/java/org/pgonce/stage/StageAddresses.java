package org.pgonce.stage;

import com.impossibl.postgres.jdbc.PGDataSource;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.pgonce.spi.DataSourceReader;
import org.pgonce.spi.ListenAddress;
import org.postgresql.Driver;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Reads the data sources of these tests, since the reader of the product is a module on top of this
 * one. Found by ServiceLoader.
 */
public final class StageAddresses implements DataSourceReader {

  @Override
  public List<ListenAddress> addresses(DataSource dataSource) {
    try {
      if (dataSource.isWrapperFor(HikariDataSource.class)) {
        var pool = dataSource.unwrap(HikariDataSource.class);
        return pool.getDataSource() == null
            ? addresses(pool.getJdbcUrl(), pool.getUsername(), pool.getPassword())
            : addresses(pool.getDataSource());
      }
      if (dataSource.isWrapperFor(PGSimpleDataSource.class)) {
        var source = dataSource.unwrap(PGSimpleDataSource.class);
        return addresses(source.getUrl(), source.getUser(), source.getPassword());
      }
      if (dataSource.isWrapperFor(PGDataSource.class)) {
        var source = dataSource.unwrap(PGDataSource.class);
        return List.of(
            new ListenAddress(
                source.getServerName(),
                source.getPortNumber(),
                source.getDatabaseName(),
                source.getUser(),
                source.getPassword(),
                Map.of()));
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    throw new IllegalArgumentException("a data source of no test, " + dataSource.getClass());
  }

  private static List<ListenAddress> addresses(String url, String user, String password) {
    var parsed =
        Driver.parseURL(url.replaceFirst("^jdbc:pgsql:", "jdbc:postgresql:"), new Properties());
    var rest = new HashMap<String, String>();
    parsed.stringPropertyNames().forEach(name -> rest.put(name, parsed.getProperty(name)));
    var hosts = rest.remove("PGHOST").split(",", -1);
    var ports = rest.remove("PGPORT").split(",", -1);
    var database = rest.remove("PGDBNAME");
    rest.remove("user");
    rest.remove("password");
    return IntStream.range(0, hosts.length)
        .mapToObj(
            i ->
                new ListenAddress(
                    hosts[i], Integer.parseInt(ports[i]), database, user, password, rest))
        .toList();
  }

  @Override
  public Integer size(DataSource dataSource) {
    return dataSource instanceof HikariDataSource pool ? (Integer) pool.getMaximumPoolSize() : null;
  }
}
