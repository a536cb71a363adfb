package org.pgonce.benchmarks;

import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.Cleanup;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * A database of the run's own: on an embedded server that goes with it, or on one that was there,
 * from where it is dropped when this is closed or the JVM is told to end.
 */
final class BenchmarkDatabase implements AutoCloseable {

  /** No checkpoint comes by itself within a round; all else is as PostgreSQL ships. */
  private static final Map<String, String> SETTINGS =
      Map.of("max_wal_size", "4GB", "checkpoint_timeout", "30min");

  private static final String OWN_ROLES =
      "select count(*) from pg_roles where rolname in ('pgonce_owner', 'pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_monitor', 'pgonce_installer')";
  private static final String DROP_ROLES =
      "drop role if exists pgonce_publisher, pgonce_listener, pgonce_admin, pgonce_monitor, pgonce_installer, pgonce_owner";

  private final Cleanup cleanup;
  private final TestServer server;
  private final TestDatabase database;
  private final boolean own;

  private BenchmarkDatabase(
      Cleanup cleanup, @Nullable TestServer existing, Map<String, String> settings)
      throws SQLException {
    this.cleanup = cleanup;
    this.own = existing == null;
    if (existing == null) {
      // The database goes with its server.
      server = cleanup.add(startEmbedded(settings));
      database = server.createDatabase();
    } else {
      server = existing;
      database = existing.createDatabase();
      if (database.queryLong(OWN_ROLES) == 0) {
        cleanup.add(() -> dropRoles(existing));
      }
      cleanup.add(database);
    }
  }

  /**
   * Opens it.
   *
   * @param settings of an embedded server, beside those that every run has
   */
  static BenchmarkDatabase open(@Nullable TestServer existing, Map<String, String> settings) {
    var cleanup = new Cleanup();
    try {
      return new BenchmarkDatabase(cleanup, existing, settings);
    } catch (SQLException e) {
      cleanup.close();
      throw new IllegalStateException("the server does not answer as it should", e);
    } catch (RuntimeException e) {
      cleanup.close();
      throw e;
    }
  }

  private static TestServer startEmbedded(Map<String, String> more) {
    var all = new HashMap<>(SETTINGS);
    all.putAll(more);
    try {
      return TestServer.startEmbedded(all);
    } catch (IllegalStateException e) {
      throw new IllegalStateException(
          e.getMessage() + " Or name a server that runs: --url jdbc:postgresql://…", e.getCause());
    }
  }

  private static void dropRoles(TestServer server) throws SQLException {
    var login =
        new Login(
            server.host(), server.port(), server.database(), server.user(), server.password());
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(DROP_ROLES);
    }
  }

  /** Whether {@link #crash} may be asked for. */
  boolean isOwn() {
    return own;
  }

  /** The server ends at once and comes up again. Returns when it answers. */
  void crash() {
    server.stopImmediately();
    server.restart();
  }

  TestDatabase database() {
    return database;
  }

  /** One more on the same server; it goes with the run. */
  TestDatabase another() {
    return cleanup.add(server.createDatabase());
  }

  /** Gives it back before the database. */
  <T extends AutoCloseable> T add(T resource) {
    return cleanup.add(resource);
  }

  @Override
  public void close() {
    cleanup.close();
  }
}
