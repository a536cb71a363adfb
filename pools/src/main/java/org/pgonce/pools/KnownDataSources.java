package org.pgonce.pools;

import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** The DataSources whose settings can be read. By name: none of them is a dependency of pgonce. */
final class KnownDataSources {

  private static final List<String> KNOWN =
      List.of(
          "com.zaxxer.hikari.HikariDataSource",
          "io.agroal.api.AgroalDataSource",
          "org.apache.commons.dbcp2.BasicDataSource",
          "org.apache.tomcat.jdbc.pool.DataSourceProxy",
          "com.mchange.v2.c3p0.AbstractComboPooledDataSource",
          "org.postgresql.ds.common.BaseDataSource",
          "com.impossibl.postgres.jdbc.PGDataSource");

  private KnownDataSources() {}

  /**
   * The known one that it is or wraps; null if it is none.
   *
   * @param itself whether it may be of a known kind itself, and not only wrap one that is
   */
  static @Nullable Object find(DataSource dataSource, boolean itself) throws SQLException {
    for (var name : KNOWN) {
      var type = type(name, dataSource);
      if (type != null && (type.isInstance(dataSource) ? itself : dataSource.isWrapperFor(type))) {
        return type.isInstance(dataSource) ? dataSource : dataSource.unwrap(type);
      }
    }
    return null;
  }

  /** The most connections that it gives out at once; null if it does not say, or has no bound. */
  static @Nullable Integer size(DataSource dataSource) {
    try {
      var known = find(dataSource, true);
      while (known != null) {
        var getters = new Getters(known);
        var size =
            getters.first(
                "getMaximumPoolSize", "maxSize", "getMaxTotal", "getMaxActive", "getMaxPoolSize");
        if (size instanceof Integer most) {
          return most > 0 ? most : null;
        }
        known = getters.first("getConfiguration", "connectionPoolConfiguration"); // of Agroal
      }
    } catch (SQLException | RuntimeException | LinkageError unreadable) {
      // Then nobody can say.
    }
    return null;
  }

  private static @Nullable Class<?> type(String name, DataSource dataSource) {
    try {
      return Class.forName(name, false, dataSource.getClass().getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return null; // not in use
    }
  }
}
