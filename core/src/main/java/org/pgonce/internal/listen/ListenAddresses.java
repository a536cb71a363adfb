package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Getters;
import org.pgonce.spi.ListenAddress;

/**
 * Reads off a DataSource where its connections go, so that the LISTEN connection can go there too,
 * outside the pool. Never opens a connection.
 *
 * <p>Understands HikariCP, Agroal, DBCP2, tomcat-jdbc, c3p0, the DataSources of pgjdbc and
 * pgjdbc-ng, and whatever unwraps to one of them. A URL of several hosts gives several addresses in
 * its order.
 */
public final class ListenAddresses {

  /** Where to listen. Called before each connect, so that a rotated password is picked up. */
  @FunctionalInterface
  public interface Lookup {

    /**
     * Returns the hosts of one cluster, at least one. They are tried in this order until one
     * listens.
     *
     * @throws ListenFailure of kind POLLING if no address is known
     */
    List<ListenAddress> find() throws ListenFailure;
  }

  private interface Reader {
    List<ListenAddress> read(Getters dataSource) throws ListenFailure, SQLException;
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

  private static final List<String> NG_SETTINGS =
      List.of(
          "SslMode", "SslCertificateFile", "SslCaCertificateFile", "SslKeyFile", "SslKeyPassword");
  private static final Set<String> NG_DEFAULT_FILES =
      Set.of("postgresql.crt", "root.crt", "postgresql.pk8");

  private ListenAddresses() {}

  /**
   * Reads the address anew: a pool's password may have been rotated since the last time.
   *
   * @throws ListenFailure of kind POLLING, with what to do
   */
  public static List<ListenAddress> of(DataSource dataSource) throws ListenFailure {
    try {
      return read(dataSource, true);
    } catch (SQLException | RuntimeException e) {
      throw unknown(dataSource, "it cannot be read: " + e.getMessage());
    }
  }

  /**
   * @param itself whether it may be of a known kind itself, and not only wrap one that is
   */
  private static List<ListenAddress> read(DataSource dataSource, boolean itself)
      throws ListenFailure, SQLException {
    for (var kind : KINDS) {
      var type = type(kind, dataSource);
      if (type == null) {
        continue;
      }
      if (type.isInstance(dataSource)) {
        if (itself) {
          return kind.reader().read(new Getters(dataSource));
        }
      } else if (dataSource.isWrapperFor(type)) {
        return kind.reader().read(new Getters(dataSource.unwrap(type)));
      }
    }
    throw unknown(dataSource, "its kind is not known");
  }

  private static @Nullable Class<?> type(Kind kind, DataSource dataSource) {
    try {
      return Class.forName(kind.className(), false, dataSource.getClass().getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return null; // not in use
    }
  }

  private static List<ListenAddress> hikari(Getters pool) throws ListenFailure, SQLException {
    var inner = (DataSource) pool.get("getDataSource");
    if (inner == null && pool.text("getJdbcUrl") != null) {
      return byUrl(pool, "getJdbcUrl", "getUsername", "getDataSourceProperties");
    }
    // By class name, HikariCP makes the DataSource when the pool starts.
    var found = inner == null ? read((DataSource) pool.bean(), false) : read(inner, true);
    var user = pool.text("getUsername");
    var password = pool.text("getPassword");
    return user == null
        ? found
        : found.stream().map(address -> withLogin(address, user, password)).toList();
  }

  private static ListenAddress withLogin(
      ListenAddress address, String user, @Nullable String password) {
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

  private static List<ListenAddress> tomcat(Getters pool) throws ListenFailure, SQLException {
    var settings = pool.of("getPoolProperties"); // the pool's own getPassword() hides it
    return settings.get("getDataSource") instanceof DataSource inner
        ? read(inner, true)
        : byUrl(settings, "getUrl", "getUsername", "getDbProperties");
  }

  private static List<ListenAddress> pgjdbcNg(Getters dataSource) throws ListenFailure {
    var beside =
        dataSource.properties(null, dataSource.text("getUser"), dataSource.text("getPassword"));
    for (var setting : NG_SETTINGS) {
      var value = dataSource.text("get" + setting);
      if (value != null && !NG_DEFAULT_FILES.contains(value)) {
        beside.setProperty(setting, value);
      }
    }
    var url = dataSource.text("getDatabaseUrl");
    if (url != null) {
      return JdbcUrls.addresses(url, beside);
    }
    var host = String.valueOf(dataSource.text("getServerName"));
    var database = String.valueOf(dataSource.text("getDatabaseName"));
    var port = (int) dataSource.of("getPortNumber").bean();
    return JdbcUrls.addresses("jdbc:pgsql:" + JdbcUrls.place(host, port, database), beside);
  }

  private static List<ListenAddress> byUrl(
      Getters pool, String url, String user, @Nullable String properties) throws ListenFailure {
    return JdbcUrls.addresses(
        String.valueOf(pool.text(url)),
        pool.properties(properties, pool.text(user), pool.text("getPassword")));
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
