package org.pgonce.example.run;

import java.sql.SQLException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.TestServer;

/** The PostgreSQL of a run: embedded, made for it and gone with it; or one that was there. */
final class ExampleServer implements AutoCloseable {

  private static final String DESCRIPTION =
      """
      select format('PostgreSQL %s, fsync %s, synchronous_commit %s', current_setting('server_version'),
                    current_setting('fsync'), current_setting('synchronous_commit'))
      """;

  private final DatabaseAddress maintenance;
  private final @Nullable TestServer embedded;
  private final String description;

  private ExampleServer(DatabaseAddress maintenance, @Nullable TestServer embedded) {
    this.maintenance = maintenance;
    this.embedded = embedded;
    this.description = describe(maintenance);
  }

  static ExampleServer start(ServerOptions options) {
    if (!options.isEmbedded()) {
      return new ExampleServer(options.address(), null);
    }
    try {
      // Not TestServer.start: what the tests of this project run on is not what the example was
      // asked to run on.
      var server = TestServer.startEmbedded(Map.of());
      return new ExampleServer(
          new DatabaseAddress(server.jdbcUrl(), server.user(), server.password()), server);
    } catch (IllegalStateException e) {
      throw new CannotRunException(
          e.getMessage() + " Or name a server that runs: --url jdbc:postgresql://…", e);
    }
  }

  private static String describe(DatabaseAddress address) {
    try (var connection = address.dataSource().getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(DESCRIPTION)) {
      row.next();
      return row.getString(1);
    } catch (SQLException e) {
      throw new CannotRunException(
          "cannot connect to " + address.url() + " as " + address.user() + ": " + e.getMessage(),
          e);
    }
  }

  /** The database that others are made from. */
  DatabaseAddress maintenance() {
    return maintenance;
  }

  boolean isEmbedded() {
    return embedded != null;
  }

  /** The server as a thing to be stopped and started. */
  TestServer embedded() {
    if (embedded == null) {
      throw new CannotRunException(
          "this run stops the server in its middle, which it does only to an embedded one: leave --url and "
              + DatabaseAddress.URL
              + " out");
    }
    return embedded;
  }

  @Override
  public void close() {
    if (embedded != null) {
      embedded.close();
    }
  }

  @Override
  public String toString() {
    return embedded == null
        ? description + " at " + maintenance.url()
        : description
            + ", embedded, port "
            + embedded.port()
            + ", process "
            + embedded.postmasterPid();
  }
}
