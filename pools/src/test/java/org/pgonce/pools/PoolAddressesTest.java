package org.pgonce.pools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.impossibl.postgres.jdbc.PGDataSource;
import com.mchange.v2.c3p0.ComboPooledDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.agroal.api.security.NamePrincipal;
import io.agroal.api.security.SimplePassword;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.pgonce.spi.ListenAddress;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Where the LISTEN connection goes is told from the DataSource, without a connection of its own.
 */
@PgTest
class PoolAddressesTest {

  private static final ListenAddress SHOP =
      new ListenAddress("db.example", 6543, "shop", "app", "s3cret", Map.of());

  private static final String URL = "jdbc:postgresql://db.example:6543/shop";

  private static PGSimpleDataSource pgjdbc() {
    var dataSource = new PGSimpleDataSource();
    dataSource.setServerNames(new String[] {"db.example"});
    dataSource.setPortNumbers(new int[] {6543});
    dataSource.setDatabaseName("shop");
    dataSource.setUser("app");
    dataSource.setPassword("s3cret");
    return dataSource;
  }

  private static PGDataSource ng() {
    var dataSource = new PGDataSource();
    dataSource.setServerName("db.example");
    dataSource.setPortNumber(6543);
    dataSource.setDatabaseName("shop");
    dataSource.setUser("app");
    dataSource.setPassword("s3cret");
    return dataSource;
  }

  private static HikariDataSource hikari(Consumer<HikariConfig> with) {
    // Nothing listens at the address: the pool must not have to connect to be read.
    var pool = new HikariDataSource();
    with.accept(pool);
    return pool;
  }

  private static DataSource agroal() throws SQLException {
    return AgroalDataSource.from(
        new AgroalDataSourceConfigurationSupplier()
            .connectionPoolConfiguration(
                pool ->
                    pool.maxSize(1)
                        .connectionFactoryConfiguration(
                            factory ->
                                factory
                                    .jdbcUrl(URL)
                                    .principal(new NamePrincipal("app"))
                                    .credential(new SimplePassword("s3cret")))));
  }

  private static BasicDataSource dbcp2() {
    var pool = new BasicDataSource();
    pool.setUrl(URL);
    pool.setUsername("app");
    pool.setPassword("s3cret");
    return pool;
  }

  private static DataSource tomcat(Consumer<org.apache.tomcat.jdbc.pool.DataSource> with) {
    var pool = new org.apache.tomcat.jdbc.pool.DataSource();
    pool.setUsername("app");
    pool.setPassword("s3cret");
    with.accept(pool);
    return pool;
  }

  private static DataSource c3p0() {
    var pool = new ComboPooledDataSource();
    pool.setJdbcUrl(URL);
    pool.setUser("app");
    pool.setPassword("s3cret");
    return pool;
  }

  static Stream<Arguments> known() throws SQLException {
    return Stream.of(
        Arguments.of("pgjdbc", pgjdbc()),
        Arguments.of(
            "HikariCP by URL",
            hikari(
                config -> {
                  config.setJdbcUrl(URL);
                  config.setUsername("app");
                  config.setPassword("s3cret");
                })),
        Arguments.of(
            "HikariCP by URL with the login in it",
            hikari(
                config ->
                    config.setJdbcUrl(
                        "jdbc:postgresql://db.example:6543/shop?user=app&password=s3cret"))),
        Arguments.of(
            "HikariCP by URL with the login in its properties",
            hikari(
                config -> {
                  config.setJdbcUrl(URL);
                  config.addDataSourceProperty("user", "app");
                  config.addDataSourceProperty("password", "s3cret");
                })),
        Arguments.of(
            "HikariCP with a provider of credentials",
            hikari(
                config -> {
                  config.setJdbcUrl(URL);
                  config.setUsername("former");
                  config.setCredentialsProvider(() -> Credentials.of("app", "s3cret"));
                })),
        Arguments.of("HikariCP around pgjdbc", hikari(config -> config.setDataSource(pgjdbc()))),
        Arguments.of(
            "HikariCP around pgjdbc, with its own login",
            hikari(
                config -> {
                  var other = pgjdbc();
                  other.setUser("other");
                  other.setPassword("other");
                  config.setDataSource(other);
                  config.setUsername("app");
                  config.setPassword("s3cret");
                })),
        Arguments.of("Agroal", agroal()),
        Arguments.of("DBCP2", dbcp2()),
        Arguments.of("tomcat-jdbc", tomcat(pool -> pool.setUrl(URL))),
        Arguments.of(
            "tomcat-jdbc around pgjdbc", tomcat(pool -> pool.setDataSource((Object) pgjdbc()))),
        Arguments.of("c3p0", c3p0()),
        Arguments.of("a wrapper around DBCP2", wrapped(dbcp2())),
        Arguments.of("a wrapper around pgjdbc", wrapped(pgjdbc())),
        Arguments.of("a wrapper around HikariCP", wrapped(hikari(c -> c.setDataSource(pgjdbc())))));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("known")
  void tellsTheAddressOf(String kind, DataSource dataSource) throws Exception {
    assertThat(address(PoolAddresses.of(dataSource))).isEqualTo(SHOP);
  }

  @Test
  void tellsTheAddressOfPgjdbcNg() throws Exception {
    for (var dataSource : List.of(ng(), wrapped(ng()))) {
      var address = address(PoolAddresses.of(dataSource));

      assertThat(address.host()).isEqualTo("db.example");
      assertThat(address.port()).isEqualTo(6543);
      assertThat(address.database()).isEqualTo("shop");
      assertThat(address.user()).isEqualTo("app");
      assertThat(address.password()).isEqualTo("s3cret");
      // What it does when it is told nothing, where pgjdbc would try TLS.
      assertThat(address.properties()).containsExactly(Map.entry("sslmode", "disable"));
    }
  }

  /** The LISTEN connection must not go without TLS where the pool has it. */
  @Test
  void anAddressOfPgjdbcNgWithTlsHasToBeGiven() throws Exception {
    var configured = ng();
    configured.setSslMode("verify-ca");
    var byUrl =
        hikari(config -> config.setJdbcUrl("jdbc:pgsql://db.example/shop?ssl.mode=require"));
    var beside =
        hikari(
            config -> {
              config.setJdbcUrl("jdbc:pgsql://db.example/shop");
              config.addDataSourceProperty("sslMode", "require");
            });

    for (var dataSource : List.of(configured, byUrl, beside)) {
      assertThatThrownBy(() -> PoolAddresses.of(dataSource))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("TLS settings of pgjdbc-ng")
          .hasMessageContaining("listenAddress(...)");
    }
    assertThat(JdbcUrls.addresses("jdbc:pgsql://db.example/shop?sslMode=disable", new Properties()))
        .hasSize(1);
  }

  @Test
  void aLoginInAUrlOfPgjdbcNgMayHoldWhatSeparatesElsewhere() throws Exception {
    var address =
        address(
            JdbcUrls.addresses("jdbc:pgsql://app:s/3&c%25ret@db.example/shop", new Properties()));
    assertThat(address.host()).isEqualTo("db.example");
    assertThat(address.database()).isEqualTo("shop");
    assertThat(address.user()).isEqualTo("app");
    assertThat(address.password()).isEqualTo("s/3&c%ret");
  }

  @Test
  void theLoginBesideAUrlOfPgjdbcNgGoesFirst() throws Exception {
    var rotated = new Properties();
    rotated.setProperty("password", "new");
    var address =
        address(
            JdbcUrls.addresses(
                "jdbc:pgsql://app:old@db.example/shop?password=older&user=other", rotated));
    assertThat(address.user()).isEqualTo("other");
    assertThat(address.password()).isEqualTo("new");
  }

  @Test
  void propertiesOfTheUrlGoBeforeThoseOfThePool() throws Exception {
    var pool =
        hikari(
            config -> {
              config.setJdbcUrl("jdbc:postgresql://db.example/shop?sslmode=require");
              config.addDataSourceProperty("sslmode", "disable");
              config.addDataSourceProperty("sslrootcert", "/ca.crt");
            });

    assertThat(address(PoolAddresses.of(pool)).properties())
        .containsEntry("sslmode", "require")
        .containsEntry("sslrootcert", "/ca.crt");
  }

  @Test
  void propertiesBesideTheUrlAreReadOffEachPool() throws Exception {
    var properties = new Properties();
    properties.setProperty("sslrootcert", "/ca.crt");
    var dbcp2 = dbcp2();
    dbcp2.setConnectionProperties("sslrootcert=/ca.crt;");
    var c3p0 = new ComboPooledDataSource();
    c3p0.setJdbcUrl(URL);
    c3p0.setProperties(properties);
    var tomcat =
        tomcat(
            pool -> {
              pool.setUrl(URL);
              pool.setDbProperties(properties);
            });

    for (var pool : List.of(dbcp2, c3p0, tomcat)) {
      assertThat(address(PoolAddresses.of(pool)).properties())
          .as(pool.getClass().getName())
          .containsExactly(Map.entry("sslrootcert", "/ca.crt"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"jdbc:postgresql", "jdbc:pgsql"})
  void h66_everyHostOfAUrlIsAnAddressInItsOrder(String scheme) throws Exception {
    var login = new Properties();
    login.setProperty("user", "app");
    login.setProperty("password", "s3cret");

    assertThat(JdbcUrls.addresses(scheme + "://one,two:6001,[::1]:6002/shop", login))
        .extracting(ListenAddress::toString)
        .containsExactly("app@one:5432/shop", "app@two:6001/shop", "app@::1:6002/shop");
  }

  @Test
  void whatAUrlLeavesOutIsTheDriversDefault() throws Exception {
    var address = address(JdbcUrls.addresses("jdbc:postgresql:shop", new Properties()));

    assertThat(address.host()).isEqualTo("localhost");
    assertThat(address.port()).isEqualTo(5432);
    assertThat(address.database()).isEqualTo("shop");
    assertThat(address(JdbcUrls.addresses("jdbc:pgsql:shop", new Properties())).database())
        .isEqualTo("shop");
  }

  @Test
  void anythingElseIsUnknownWithAReasonThatKeepsSecrets() {
    var foreign =
        hikari(
            config -> config.setJdbcUrl("jdbc:mysql://db.example/shop?user=app&password=s3cret"));
    var unreadable = hikari(config -> config.setDataSourceClassName("no.such.Class"));

    for (var dataSource : List.of(foreign, unreadable, hikari(config -> {}), plain())) {
      assertThatThrownBy(() -> PoolAddresses.of(dataSource))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("listenAddress(...)")
          .hasMessageNotContaining("s3cret");
    }
    assertThatThrownBy(() -> PoolAddresses.of(foreign)).hasMessageContaining("jdbc:mysql:");
  }

  /** HikariCP makes the DataSource when the pool starts, as it has when a listener starts. */
  @Test
  void tellsTheAddressOfHikariCpByClassName(TestDatabase database) throws Exception {
    try (var pool = hikari(config -> {})) {
      pool.setDataSourceClassName("org.postgresql.ds.PGSimpleDataSource");
      pool.addDataSourceProperty("serverName", database.host());
      pool.addDataSourceProperty("portNumber", database.port());
      pool.addDataSourceProperty("databaseName", database.name());
      pool.setUsername(database.user());
      pool.setPassword("s3cret"); // the server asks for none
      pool.getConnection().close();
      var address = address(PoolAddresses.of(pool));

      assertThat(address)
          .hasToString(
              "%s@%s:%d/%s"
                  .formatted(database.user(), database.host(), database.port(), database.name()));
      assertThat(address.password()).isEqualTo("s3cret");
    }
  }

  @Test
  void neitherPoolNorPgjdbcNgNeedsToBeThere() throws Exception {
    try (var without = new WithoutPools()) {
      var reader = Class.forName(PoolReader.class.getName(), true, without);
      var made = reader.getConstructor().newInstance();
      var addresses = reader.getMethod("addresses", DataSource.class);
      assertThatThrownBy(() -> addresses.invoke(made, wrapping(null, without, DataSource.class)))
          .rootCause()
          .hasMessageContaining("its kind is not known");
      var ng = Class.forName(PgjdbcNg.class.getName(), true, without);
      assertThat(ng.getClassLoader()).isSameAs(without);
      assertThat(
              ng.getMethod("made", Connection.class)
                  .invoke(null, wrapping(null, without, Connection.class)))
          .isEqualTo(false);
    }
  }

  /** The same class path, without any pool and without pgjdbc-ng. */
  private static final class WithoutPools extends URLClassLoader {
    private static final List<String> ABSENT =
        List.of("com.zaxxer", "io.agroal", "org.apache", "com.mchange", "com.impossibl");

    WithoutPools() {
      super(classPath(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath() {
      return Arrays.stream(
              System.getProperty("java.class.path").split(java.io.File.pathSeparator, -1))
          .map(WithoutPools::url)
          .toArray(URL[]::new);
    }

    private static URL url(String entry) {
      try {
        return Path.of(entry).toUri().toURL();
      } catch (java.net.MalformedURLException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (ABSENT.stream().anyMatch(name::startsWith)) {
        throw new ClassNotFoundException(name);
      }
      return super.loadClass(name, resolve);
    }
  }

  private static ListenAddress address(List<ListenAddress> addresses) {
    assertThat(addresses).hasSize(1);
    return addresses.get(0);
  }

  private static DataSource plain() {
    return wrapped(null);
  }

  private static DataSource wrapped(DataSource inner) {
    return wrapping(inner, PoolAddressesTest.class.getClassLoader(), DataSource.class);
  }

  /** Somebody's own, which unwraps as the JDBC contract says, to one or to none. */
  private static <T> T wrapping(DataSource inner, ClassLoader loader, Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            loader,
            new Class<?>[] {type},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "isWrapperFor" -> ((Class<?>) arguments[0]).isInstance(inner);
                  case "unwrap" -> ((Class<?>) arguments[0]).cast(inner);
                  default -> throw new SQLException("connects to nobody");
                }));
  }
}
