package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Getters;
import org.pgonce.spi.ListenAddress;

/**
 * Tells from a DataSource where its connections go, so that the LISTEN connection can go there too,
 * outside the pool. Reads settings only: never opens a connection.
 *
 * <p>Understands HikariCP, Agroal, DBCP2, tomcat-jdbc, c3p0, the DataSources of pgjdbc and
 * pgjdbc-ng, and whatever unwraps to one of them. A URL of several hosts gives several addresses in
 * its order.
 */
public final class ListenAddresses {

  private interface Reader {
    List<ListenAddress> read(Getters dataSource) throws ListenFailure;
  }

  private record Kind(String className, Reader reader) {}

  // By name: none of them is a dependency of pgonce.
  private static final List<Kind> KINDS =
      List.of(
          new Kind("com.zaxxer.hikari.HikariDataSource", ListenAddresses::hikari),
          new Kind("io.agroal.api.AgroalDataSource", ListenAddresses::agroal),
          new Kind(
              "org.apache.commons.dbcp2.BasicDataSource",
              pool -> byUrl(pool, "getUrl", "getUsername", "getConnectionProperties")),
          new Kind("org.apache.tomcat.jdbc.pool.DataSourceProxy", ListenAddresses::tomcat),
          new Kind(
              "com.mchange.v2.c3p0.AbstractComboPooledDataSource",
              pool -> byUrl(pool, "getJdbcUrl", "getUser", "getProperties")),
          new Kind(
              "org.postgresql.ds.common.BaseDataSource",
              pgjdbc -> byUrl(pgjdbc, "getURL", "getUser", null)),
          new Kind("com.impossibl.postgres.jdbc.PGDataSource", ListenAddresses::pgjdbcNg));

  private ListenAddresses() {}

  /**
   * Reads the address anew: a pool's password may have been rotated since the last time.
   *
   * @throws ListenFailure of kind POLLING, with what to do
   */
  public static List<ListenAddress> of(DataSource dataSource) throws ListenFailure {
    try {
      for (var kind : KINDS) {
        var type = type(kind, dataSource);
        if (type != null && type.isInstance(dataSource)) {
          return kind.reader().read(new Getters(dataSource));
        }
      }
      return unwrapped(dataSource);
    } catch (SQLException | RuntimeException e) {
      throw unknown(dataSource, "it cannot be read: " + e.getMessage());
    }
  }

  private static List<ListenAddress> unwrapped(DataSource wrapper)
      throws ListenFailure, SQLException {
    for (var kind : KINDS) {
      var type = type(kind, wrapper);
      if (type != null && wrapper.isWrapperFor(type) && !type.isInstance(wrapper)) {
        return kind.reader().read(new Getters(wrapper.unwrap(type)));
      }
    }
    throw unknown(wrapper, "its kind is not known");
  }

  private static @Nullable Class<?> type(Kind kind, DataSource dataSource) {
    try {
      return Class.forName(kind.className(), false, dataSource.getClass().getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return null; // simply not in use
    }
  }

  private static List<ListenAddress> hikari(Getters pool) throws ListenFailure {
    var user = pool.text("getUsername");
    var password = pool.text("getPassword");
    var url = pool.text("getJdbcUrl");
    var wrapped = (DataSource) pool.get("getDataSource");
    if (wrapped == null && url != null) {
      return JdbcUrls.addresses(url, pool.properties("getDataSourceProperties", user, password));
    }
    try {
      // By class name, HikariCP makes the DataSource when the pool starts.
      var found = wrapped == null ? unwrapped((DataSource) pool.bean()) : of(wrapped);
      return user == null ? found : found.stream().map(each -> as(each, user, password)).toList();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  // What the pool is given goes before what its DataSource has.
  private static ListenAddress as(ListenAddress address, String user, @Nullable String password) {
    return new ListenAddress(
        address.host(),
        address.port(),
        address.database(),
        user,
        password == null ? address.password() : password,
        address.properties());
  }

  private static List<ListenAddress> agroal(Getters dataSource) throws ListenFailure {
    var factory =
        dataSource
            .of("getConfiguration")
            .of("connectionPoolConfiguration")
            .of("connectionFactoryConfiguration");
    var beside = factory.properties("jdbcProperties", null, null);
    var principal = factory.get("principal");
    if (principal != null) {
      beside.putAll(security(principal));
    }
    if (factory.get("credentials") instanceof Collection<?> credentials) {
      credentials.forEach(each -> beside.putAll(security(each)));
    }
    return JdbcUrls.addresses(String.valueOf(factory.text("jdbcUrl")), beside);
  }

  // NamePrincipal and SimplePassword; what else there is (Kerberos, a vault) is not for pgonce.
  private static Properties security(Object principalOrCredential) {
    return new Getters(principalOrCredential).properties("asProperties", null, null);
  }

  private static List<ListenAddress> tomcat(Getters pool) throws ListenFailure {
    // The pool's own getPassword() hides it.
    var settings = pool.of("getPoolProperties");
    return settings.get("getDataSource") instanceof DataSource wrapped
        ? of(wrapped)
        : byUrl(settings, "getUrl", "getUsername", "getDbProperties");
  }

  private static List<ListenAddress> byUrl(
      Getters pool, String url, String user, @Nullable String properties) throws ListenFailure {
    return JdbcUrls.addresses(
        String.valueOf(pool.text(url)),
        pool.properties(properties, pool.text(user), pool.text("getPassword")));
  }

  private static List<ListenAddress> pgjdbcNg(Getters dataSource) throws ListenFailure {
    var user = dataSource.text("getUser");
    var password = dataSource.text("getPassword");
    var url = dataSource.text("getDatabaseUrl");
    if (url != null) {
      return JdbcUrls.addresses(url, dataSource.properties(null, user, password));
    }
    Map<String, String> properties = new HashMap<>();
    put(properties, "sslmode", dataSource.text("getSslMode"), "");
    put(properties, "sslcert", dataSource.text("getSslCertificateFile"), "postgresql.crt");
    put(properties, "sslrootcert", dataSource.text("getSslCaCertificateFile"), "root.crt");
    put(properties, "sslkey", dataSource.text("getSslKeyFile"), "postgresql.pk8");
    put(properties, "sslpassword", dataSource.text("getSslKeyPassword"), "");
    return List.of(
        new ListenAddress(
            String.valueOf(dataSource.text("getServerName")),
            (int) dataSource.of("getPortNumber").bean(),
            String.valueOf(dataSource.text("getDatabaseName")),
            user,
            password,
            properties));
  }

  private static void put(
      Map<String, String> properties, String name, @Nullable String value, String byDefault) {
    if (value != null && !value.equals(byDefault)) {
      properties.put(name, value);
    }
  }

  private static ListenFailure unknown(DataSource dataSource, String why) {
    return ListenFailure.polling(
        "the DataSource "
            + dataSource.getClass().getName()
            + " does not say where it connects ("
            + why
            + "); give the server's address with listenAddress(...)");
  }
}
