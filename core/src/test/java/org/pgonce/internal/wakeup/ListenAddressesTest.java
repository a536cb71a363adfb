package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import com.impossibl.postgres.jdbc.PGDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.internal.wakeup.AddressLookup.Found;
import org.pgonce.internal.wakeup.AddressLookup.Unknown;
import org.pgonce.spi.ListenAddress;
import org.postgresql.ds.PGSimpleDataSource;

/** Where the LISTEN connection goes is told from the DataSource, without a connection. */
class ListenAddressesTest {

  private static final ListenAddress SHOP =
      new ListenAddress("db.example", 6543, "shop", "app", "s3cret", Map.of());

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

  private static HikariDataSource hikari(java.util.function.Consumer<HikariConfig> with) {
    // Nothing listens at the address: the pool must not have to connect to be read.
    var pool = new HikariDataSource();
    with.accept(pool);
    return pool;
  }

  static Stream<Arguments> known() {
    return Stream.of(
        Arguments.of("pgjdbc", pgjdbc()),
        Arguments.of(
            "HikariCP by URL",
            hikari(
                config -> {
                  config.setJdbcUrl("jdbc:postgresql://db.example:6543/shop");
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
                  config.setJdbcUrl("jdbc:postgresql://db.example:6543/shop");
                  config.addDataSourceProperty("user", "app");
                  config.addDataSourceProperty("password", "s3cret");
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
        Arguments.of(
            "HikariCP by class name",
            hikari(
                config -> {
                  config.setDataSourceClassName("org.postgresql.ds.PGSimpleDataSource");
                  config.addDataSourceProperty("serverName", "db.example");
                  config.addDataSourceProperty("portNumber", "6543");
                  config.addDataSourceProperty("databaseName", "shop");
                  config.setUsername("app");
                  config.setPassword("s3cret");
                })),
        Arguments.of("a wrapper around pgjdbc", wrapped(pgjdbc())),
        Arguments.of("a wrapper around HikariCP", wrapped(hikari(c -> c.setDataSource(pgjdbc())))));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("known")
  void tellsTheAddressOf(String kind, DataSource dataSource) {
    assertThat(address(ListenAddresses.of(dataSource))).isEqualTo(SHOP);
  }

  @Test
  void tellsTheAddressOfPgjdbcNg() {
    for (var dataSource : List.of(ng(), wrapped(ng()))) {
      var address = address(ListenAddresses.of(dataSource));

      assertThat(address.host()).isEqualTo("db.example");
      assertThat(address.port()).isEqualTo(6543);
      assertThat(address.database()).isEqualTo("shop");
      assertThat(address.user()).isEqualTo("app");
      assertThat(address.password()).isEqualTo("s3cret");
      // What it does when it is told nothing, where pgjdbc would try TLS.
      assertThat(address.properties()).containsExactly(Map.entry("sslmode", "disable"));
    }
  }

  @Test
  void tlsSettingsOfPgjdbcNgAreSaidInPgjdbcsWords() {
    var byUrl =
        address(
            ListenAddresses.of(
                "jdbc:pgsql://app:s%33cret@db.example:6543/shop?sslMode=verify-ca&ssl.ca.certificate.file=/ca.crt"
                    + "&sslKeyFile=/k.pk8",
                Credentials.NONE));
    var configured = ng();
    configured.setSslMode("verify-ca");
    configured.setSslCaCertificateFile("/ca.crt");
    configured.setSslKeyFile("/k.pk8");

    assertThat(byUrl.properties())
        .containsOnly(
            Map.entry("sslmode", "verify-ca"),
            Map.entry("sslrootcert", "/ca.crt"),
            Map.entry("sslkey", "/k.pk8"));
    assertThat(byUrl.password()).isEqualTo("s3cret");
    assertThat(address(ListenAddresses.of(configured)).properties())
        .containsAllEntriesOf(byUrl.properties());
  }

  @Test
  void propertiesOfTheUrlGoBeforeThoseOfThePool() {
    var pool =
        hikari(
            config -> {
              config.setJdbcUrl("jdbc:postgresql://db.example/shop?sslmode=require");
              config.addDataSourceProperty("sslmode", "disable");
              config.addDataSourceProperty("sslrootcert", "/ca.crt");
            });

    assertThat(address(ListenAddresses.of(pool)).properties())
        .containsEntry("sslmode", "require")
        .containsEntry("sslrootcert", "/ca.crt");
  }

  @ParameterizedTest
  @ValueSource(strings = {"jdbc:postgresql", "jdbc:pgsql"})
  void h66_everyHostOfAUrlIsAnAddressInItsOrder(String scheme) {
    var lookup =
        ListenAddresses.of(
            scheme + "://one,two:6001,[::1]:6002/shop", new Credentials("app", "s3cret"));

    assertThat(((Found) lookup).addresses())
        .extracting(ListenAddress::toString)
        .containsExactly("app@one:5432/shop", "app@two:6001/shop", "app@::1:6002/shop");
  }

  @Test
  void whatAUrlLeavesOutIsTheDriversDefault() {
    var address = address(ListenAddresses.of("jdbc:postgresql:shop", Credentials.NONE));

    assertThat(address.host()).isEqualTo("localhost");
    assertThat(address.port()).isEqualTo(5432);
    assertThat(address.database()).isEqualTo("shop");
    assertThat(address(ListenAddresses.of("jdbc:pgsql:shop", Credentials.NONE)).database())
        .isEqualTo("shop");
  }

  @Test
  void anythingElseIsUnknownWithAReasonThatKeepsSecrets() {
    var foreign =
        hikari(
            config -> config.setJdbcUrl("jdbc:mysql://db.example/shop?user=app&password=s3cret"));
    var unreadable = hikari(config -> config.setDataSourceClassName("no.such.Class"));

    for (var dataSource : List.of(foreign, unreadable, hikari(config -> {}), plain())) {
      var lookup = ListenAddresses.of(dataSource);
      assertThat(lookup).isInstanceOf(Unknown.class);
      assertThat(((Unknown) lookup).reason())
          .contains("listenAddress(...)")
          .doesNotContain("s3cret");
    }
    assertThat(((Unknown) ListenAddresses.of(foreign)).reason()).contains("jdbc:mysql:");
  }

  @Test
  void anAddressInALogKeepsThePassword() {
    assertThat(SHOP.toString()).isEqualTo("app@db.example:6543/shop");
    assertThat(new Credentials("app", "s3cret").toString()).doesNotContain("s3cret");
  }

  @Test
  void hikariCpNeedNotBeThere() throws Exception {
    try (var without = new WithoutHikari()) {
      var lookup =
          Class.forName(ListenAddresses.class.getName(), true, without)
              .getMethod("of", DataSource.class)
              .invoke(null, plain());
      assertThat(lookup.getClass().getSimpleName()).isEqualTo("Unknown");
      assertThat(lookup.getClass().getClassLoader()).isSameAs(without);
    }
  }

  /** The same class path, in which HikariCP cannot be found. */
  private static final class WithoutHikari extends URLClassLoader {
    WithoutHikari() {
      super(classPath(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath() {
      return Arrays.stream(
              System.getProperty("java.class.path").split(java.io.File.pathSeparator, -1))
          .map(WithoutHikari::url)
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
      if (name.startsWith("com.zaxxer.hikari")) {
        throw new ClassNotFoundException(name);
      }
      return super.loadClass(name, resolve);
    }
  }

  private static ListenAddress address(AddressLookup lookup) {
    assertThat(lookup).isInstanceOf(Found.class);
    assertThat(((Found) lookup).addresses()).hasSize(1);
    return ((Found) lookup).addresses().get(0);
  }

  private static DataSource plain() {
    return wrapped(null);
  }

  /** Somebody's own DataSource, which unwraps as the JDBC contract says, to one or to none. */
  private static DataSource wrapped(DataSource inner) {
    return (DataSource)
        Proxy.newProxyInstance(
            ListenAddressesTest.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "isWrapperFor" -> ((Class<?>) arguments[0]).isInstance(inner);
                  case "unwrap" -> ((Class<?>) arguments[0]).cast(inner);
                  default -> throw new SQLException("connects to nobody");
                });
  }
}
