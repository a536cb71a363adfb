package org.pgonce.pools;

import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;

/**
 * Reads off a DataSource where its connections go, so that the LISTEN connection can go there too,
 * outside the pool. Never opens a connection.
 *
 * <p>Understands HikariCP, Agroal, DBCP2, tomcat-jdbc, c3p0, the DataSources of pgjdbc and
 * pgjdbc-ng, and whatever unwraps to one of them. A URL of several hosts gives several addresses in
 * its order.
 */
final class PoolAddresses {

  private PoolAddresses() {}

  /**
   * Reads the address anew: a pool's password may have been rotated since the last time.
   *
   * @throws IllegalArgumentException if it does not say, with what to do
   */
  static List<ListenAddress> of(DataSource dataSource) {
    try {
      return read(dataSource, true, new Properties());
    } catch (IllegalArgumentException e) {
      throw e;
    } catch (SQLException | RuntimeException e) {
      throw unknown(dataSource, "it cannot be read: " + e.getMessage());
    }
  }

  /**
   * @param itself whether it may be of a known kind itself, and not only wrap one that is
   * @param login of the pool around it, which goes first
   */
  private static List<ListenAddress> read(DataSource dataSource, boolean itself, Properties login)
      throws SQLException {
    var known = KnownDataSources.find(dataSource, itself);
    if (known == null) {
      throw unknown(dataSource, "its kind is not known");
    }
    return read(new Getters(known), login);
  }

  private static List<ListenAddress> read(Getters known, Properties outer) throws SQLException {
    var settings =
        known.first(
            "getPoolProperties", // of tomcat-jdbc, whose own getPassword() hides it
            "getConfiguration",
            "connectionPoolConfiguration",
            "connectionFactoryConfiguration");
    if (settings != null) {
      return read(new Getters(settings), outer);
    }
    var login = new Properties();
    putLogin(login, known);
    // Of HikariCP, which asks it before each connection: tokens that expire.
    var provider = known.first("getCredentialsProvider");
    var current = provider == null ? null : new Getters(provider).first("getCredentials");
    if (current != null) {
      putLogin(login, new Getters(current));
    }
    login.putAll(outer);
    if (known.first("getDataSource") instanceof DataSource inner) {
      return read(inner, true, login);
    }
    var url = url(known);
    if (url == null && known.bean() instanceof DataSource pool) {
      // By class name, HikariCP makes the DataSource when the pool starts.
      return read(pool, false, login);
    }
    var beside = new Properties();
    copy(known.first("getDataSourceProperties", "getDbProperties", "jdbcProperties"), beside);
    copy(known.first("getConnectionProperties", "getProperties"), beside);
    copy(known.first("principal"), beside);
    copy(known.first("credentials"), beside);
    beside.putAll(login);
    return JdbcUrls.addresses(String.valueOf(url), beside);
  }

  private static @Nullable String url(Getters known) {
    var url = known.text("getJdbcUrl", "jdbcUrl", "getUrl", "getURL", "getDatabaseUrl");
    if (!known.bean().getClass().getName().startsWith("com.impossibl.")) {
      return url;
    }
    var tls = known.text("getSslMode");
    if (tls != null && !tls.equalsIgnoreCase("disable")) {
      throw new IllegalStateException("it has TLS settings of pgjdbc-ng");
    }
    return url != null
        ? url
        : "jdbc:pgsql:"
            + JdbcUrls.place(
                String.valueOf(known.text("getServerName")),
                known.first("getPortNumber") instanceof Integer port ? port : 5432,
                String.valueOf(known.text("getDatabaseName")));
  }

  private static void putLogin(Properties into, Getters from) {
    put(into, "user", from.text("getUsername", "getUser"));
    put(into, "password", from.text("getPassword"));
  }

  private static void put(Properties into, String name, @Nullable String value) {
    if (value != null) {
      into.setProperty(name, value);
    }
  }

  /** Of Agroal a NamePrincipal and a SimplePassword are known; no Kerberos, no vault. */
  private static void copy(@Nullable Object from, Properties to) {
    if (from instanceof Properties properties) {
      properties
          .stringPropertyNames()
          .forEach(name -> to.setProperty(name, properties.getProperty(name)));
    } else if (from instanceof Collection<?> several) {
      several.forEach(each -> copy(each, to));
    } else if (from != null) {
      copy(new Getters(from).first("asProperties"), to);
    }
  }

  private static IllegalArgumentException unknown(DataSource dataSource, String why) {
    return new IllegalArgumentException(
        "the DataSource %s does not say where it connects (%s); give the server's address with listenAddress(...)"
            .formatted(dataSource.getClass().getName(), why));
  }
}
