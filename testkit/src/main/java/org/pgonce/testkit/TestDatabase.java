package org.pgonce.testkit;

import com.impossibl.postgres.jdbc.PGDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * A fresh, empty database, dropped with everything that was made through this object when it is
 * closed.
 *
 * <p>Safe for use by several threads.
 */
public final class TestDatabase implements AutoCloseable {

  private final TestServer server;
  private final String name;
  private final List<HikariDataSource> pools = new CopyOnWriteArrayList<>();
  private final List<String> roles = new CopyOnWriteArrayList<>();

  private TestDatabase(TestServer server, String name) {
    this.server = server;
    this.name = name;
  }

  static TestDatabase create(TestServer server) {
    var database = new TestDatabase(server, "test_" + randomSuffix());
    database.maintain("CREATE DATABASE " + database.name);
    return database;
  }

  private static String randomSuffix() {
    return UUID.randomUUID().toString().replace("-", "").substring(0, 12);
  }

  public TestServer server() {
    return server;
  }

  public String name() {
    return name;
  }

  public String host() {
    return server.host();
  }

  public int port() {
    return server.port();
  }

  /** A superuser. */
  public String user() {
    return server.user();
  }

  public String password() {
    return server.password();
  }

  /** Without user and password. */
  public String jdbcUrl() {
    return server.jdbcUrl(name);
  }

  /**
   * Unpooled connections of the superuser through pgjdbc; a new object at each call, for the caller
   * to change as it likes.
   */
  public PGSimpleDataSource dataSource() {
    return dataSource(name, user(), password());
  }

  private PGSimpleDataSource dataSource(String database, String user, String password) {
    var dataSource = new PGSimpleDataSource();
    dataSource.setServerNames(new String[] {host()});
    dataSource.setPortNumbers(new int[] {port()});
    dataSource.setDatabaseName(database);
    dataSource.setUser(user);
    dataSource.setPassword(password);
    return dataSource;
  }

  /**
   * A pool of at most {@code size} connections of the superuser through pgjdbc; closed with this
   * database, if not before.
   */
  public HikariDataSource pooled(int size) {
    var config = new HikariConfig();
    config.setDataSource(dataSource());
    config.setMaximumPoolSize(size);
    config.setPoolName(name + "-pool-" + (pools.size() + 1));
    var pool = new HikariDataSource(config);
    pools.add(pool);
    return pool;
  }

  /** Unpooled connections of the superuser through pgjdbc-ng; a new object at each call. */
  public PGDataSource ngDataSource() {
    var dataSource = new PGDataSource();
    dataSource.setServerName(host());
    dataSource.setPortNumber(port());
    dataSource.setDatabaseName(name);
    dataSource.setUser(user());
    dataSource.setPassword(password());
    return dataSource;
  }

  /**
   * Makes a role that can log in and nothing else; dropped when this database is closed, with all
   * it owns.
   *
   * @param purpose begins the role's name; roles belong to the whole server, so a random suffix
   *     follows
   * @param memberships roles whose rights it inherits; names as PostgreSQL stores them
   */
  public LoginRole loginRole(String purpose, String... memberships) throws SQLException {
    var role = "%s_%s".formatted(purpose, randomSuffix());
    var password = UUID.randomUUID().toString();
    execute("CREATE ROLE %s LOGIN PASSWORD '%s'".formatted(quoted(role), password));
    roles.add(role);
    for (var membership : memberships) {
      execute("GRANT %s TO %s".formatted(quoted(membership), quoted(role)));
    }
    return new LoginRole(role, password, dataSource(name, role, password));
  }

  private static String quoted(String identifier) {
    return '"' + identifier.replace("\"", "\"\"") + '"';
  }

  /** Runs one or more statements, separated by semicolons, in a connection of its own. */
  public void execute(String sql) throws SQLException {
    try (var connection = dataSource().getConnection()) {
      execute(connection, sql);
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The first column of the only row. */
  public long queryLong(String sql) throws SQLException {
    return query(sql, row -> row.getLong(1));
  }

  /** The first column of the only row; null for SQL null. */
  public @Nullable String queryString(String sql) throws SQLException {
    return query(sql, row -> row.getString(1));
  }

  private <T extends @Nullable Object> T query(String sql, Column<T> column) throws SQLException {
    try (var connection = dataSource().getConnection();
        var statement = connection.createStatement();
        var rows = statement.executeQuery(sql)) {
      if (!rows.next()) {
        throw new SQLException("Expected one row, got none from: " + sql);
      }
      var value = column.read(rows);
      if (rows.next()) {
        throw new SQLException("Expected one row, got more from: " + sql);
      }
      return value;
    }
  }

  private interface Column<T extends @Nullable Object> {
    T read(ResultSet row) throws SQLException;
  }

  /** The server processes that work for this database. */
  public Backends backends() {
    return new Backends(this);
  }

  /**
   * Closes the pools, cuts off whoever is still connected, drops database and roles. Does nothing
   * on a server that a test left dead.
   */
  @Override
  public void close() {
    pools.forEach(HikariDataSource::close);
    if (server.isRunning()) {
      maintain("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
      roles.forEach(role -> maintain("DROP ROLE IF EXISTS " + quoted(role)));
    }
  }

  private void maintain(String sql) {
    try (var connection = dataSource(server.database(), user(), password()).getConnection()) {
      execute(connection, sql);
    } catch (SQLException e) {
      throw new IllegalStateException("Failed on %s: %s".formatted(server, sql), e);
    }
  }
}
