package org.pgonce.internal.wakeup;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.wakeup.AddressLookup.Found;

/** Where a HikariCP pool connects. Loads only where HikariCP is present. */
final class HikariAddresses {

  private HikariAddresses() {}

  static boolean understands(DataSource dataSource) {
    return dataSource instanceof HikariDataSource;
  }

  static @Nullable DataSource unwrapped(DataSource wrapper) throws SQLException {
    return wrapper.isWrapperFor(HikariDataSource.class)
        ? wrapper.unwrap(HikariDataSource.class)
        : null;
  }

  static AddressLookup of(DataSource pool) {
    var config = (HikariConfig) pool;
    var credentials = config.getCredentials();
    var login = new Credentials(credentials.getUsername(), credentials.getPassword());
    var wrapped = config.getDataSource();
    if (wrapped != null) {
      return withLogin(ListenAddresses.of(wrapped), login);
    }
    var url = config.getJdbcUrl();
    if (url != null) {
      return JdbcProperties.under(ListenAddresses.of(url, login), config.getDataSourceProperties());
    }
    var className = config.getDataSourceClassName();
    if (className != null) {
      return withLogin(ofClass(pool, className, config), login);
    }
    return ListenAddresses.unknown(pool, "it has neither a JDBC URL nor a DataSource");
  }

  // A DataSource of the same kind and settings as the pool's own, never connected.
  private static AddressLookup ofClass(DataSource pool, String className, HikariConfig config) {
    try {
      var type = Class.forName(className, true, Thread.currentThread().getContextClassLoader());
      var made = (DataSource) type.getConstructor().newInstance();
      com.zaxxer.hikari.util.PropertyElf.setTargetFromProperties(
          made, config.getDataSourceProperties());
      return ListenAddresses.of(made);
    } catch (ReflectiveOperationException | RuntimeException e) {
      return ListenAddresses.unknown(pool, "its dataSourceClassName cannot be read: " + e);
    }
  }

  // What the pool is given goes before what its DataSource has.
  private static AddressLookup withLogin(AddressLookup lookup, Credentials login) {
    if (login.user() == null || !(lookup instanceof Found found)) {
      return lookup;
    }
    return new Found(
        found.addresses().stream().map(address -> JdbcProperties.as(address, login)).toList());
  }
}
