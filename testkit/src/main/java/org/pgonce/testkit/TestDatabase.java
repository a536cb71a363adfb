package org.pgonce.testkit;

import com.impossibl.postgres.jdbc.PGDataSource;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * A fresh, empty database, dropped when it is closed, with all that was made through this object.
 *
 * <p>Safe for use by several threads.
 */
public final class TestDatabase implements AutoCloseable {

  private static final int MAINTENANCE_BOUND_MS = 30_000;

  private final TestServer server;
  private final Login login;
  private final List<HikariDataSource> pools = new CopyOnWriteArrayList<>();
  private final List<String> roles = new CopyOnWriteArrayList<>();
  private final Backends backends = new Backends(this);
  private final Asking asking;

  private TestDatabase(TestServer server, Login login) {
    this.server = server;
    this.login = login;
    this.asking = new Asking(login);
  }

  static TestDatabase create(TestServer server, String options) {
    var name = "test_" + randomSuffix();
    var login = new Login(server.host(), server.port(), name, server.user(), server.password());
    var database = new TestDatabase(server, login);
    try (var connection = database.maintenance();
        var statement = connection.createStatement()) {
      statement.execute("CREATE DATABASE " + name + options + strategy(statement));
    } catch (SQLException e) {
      throw new IllegalStateException("%s cannot create %s".formatted(server, name), e);
    }
    return database;
  }

  /**
   * As files, where nobody waits for the disk: through the write-ahead log, as PostgreSQL does it
   * by default since 15, it takes twice the work, and saves checkpoints that cost nothing there.
   */
  private static String strategy(Statement statement) throws SQLException {
    var asFiles =
        "SELECT current_setting('server_version_num')::int >= 150000 AND current_setting('fsync') = 'off'";
    try (var rows = statement.executeQuery(asFiles)) {
      rows.next();
      return rows.getBoolean(1) ? " STRATEGY FILE_COPY" : "";
    }
  }

  private static String randomSuffix() {
    return UUID.randomUUID().toString().replace("-", "").substring(0, 12);
  }

  public TestServer server() {
    return server;
  }

  /** The superuser in this database. */
  public Login login() {
    return login;
  }

  public String name() {
    return login.database();
  }

  public String host() {
    return login.host();
  }

  public int port() {
    return login.port();
  }

  /** A superuser. */
  public String user() {
    return login.user();
  }

  /** Empty where none is needed. */
  public String password() {
    return login.password();
  }

  /** Without user and password. */
  public String jdbcUrl() {
    return login.jdbcUrl();
  }

  /** Unpooled connections of the superuser through pgjdbc; a new object at each call. */
  public PGSimpleDataSource dataSource() {
    return login.dataSource();
  }

  /** Unpooled connections of the superuser through pgjdbc-ng; a new object at each call. */
  public PGDataSource ngDataSource() {
    return login.ngDataSource();
  }

  /** Unpooled connections of the superuser, as {@link Login#unpooled}. */
  public DataSource unpooled() {
    return login.unpooled();
  }

  /**
   * A pool of at most {@code size} connections of the superuser, as {@link Login#pooled}; closed
   * with this database, if not before.
   */
  public HikariDataSource pooled(int size) {
    var pool = login.pooled(size);
    pools.add(pool);
    return pool;
  }

  /**
   * Makes a role that can log in and nothing else; dropped with this database, and with it all it
   * owns and may do here.
   *
   * @param purpose begins the role's name; roles belong to the whole server, so a random suffix
   *     follows
   * @param memberships roles whose rights it inherits; names as PostgreSQL stores them
   */
  public Login loginRole(String purpose, String... memberships) throws SQLException {
    var role = "%s_%s".formatted(purpose, randomSuffix());
    var password = UUID.randomUUID().toString();
    execute("CREATE ROLE %s LOGIN PASSWORD '%s'".formatted(quoted(role), password));
    roles.add(role);
    for (var membership : memberships) {
      execute("GRANT %s TO %s".formatted(quoted(membership), quoted(role)));
    }
    return new Login(host(), port(), name(), role, password);
  }

  private static String quoted(String identifier) {
    return '"' + identifier.replace("\"", "\"\"") + '"';
  }

  /** Runs one or more statements, separated by semicolons, in a connection of its own. */
  public void execute(String sql) throws SQLException {
    try (var connection = dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The first column of the only row, as {@link #queryString}. */
  public long queryLong(String sql) throws SQLException {
    return asking.one(sql, row -> row.getLong(1));
  }

  /**
   * The first column of the only row; null for SQL null. Most often in a session that earlier
   * questions had as well: what is to change one, or to end with it, is for {@link #execute} or a
   * connection of the caller's.
   */
  public @Nullable String queryString(String sql) throws SQLException {
    return asking.one(sql, row -> row.getString(1));
  }

  /** The server processes that work for this database. */
  public Backends backends() {
    return backends;
  }

  /**
   * Closes the pools, cuts off whoever is still connected, drops database and roles. Does nothing
   * more on a server that a test left dead.
   */
  @Override
  public void close() {
    pools.forEach(HikariDataSource::close);
    asking.close();
    if (!server.isRunning()) {
      return;
    }
    backends.continueAll();
    try {
      drop();
    } catch (SQLException e) {
      throw new IllegalStateException("%s cannot drop %s".formatted(server, name()), e);
    }
  }

  private boolean hasPrepared(Statement statement) throws SQLException {
    try (var rows =
        statement.executeQuery(
            "SELECT FROM pg_prepared_xacts WHERE database = '" + name() + "' LIMIT 1")) {
      return rows.next();
    }
  }

  /** Prepared transactions outlive their sessions, and FORCE does not reach them. */
  private void rollBackPrepared() throws SQLException {
    var prepared =
        """
        SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts
        WHERE database = current_database()
        """;
    try (var connection = dataSource().getConnection();
        var select = connection.createStatement();
        var rollback = connection.createStatement();
        var rows = select.executeQuery(prepared)) {
      while (rows.next()) {
        rollback.execute(rows.getString(1));
      }
    }
  }

  private void drop() throws SQLException {
    try (var connection = maintenance();
        var statement = connection.createStatement()) {
      if (hasPrepared(statement)) {
        rollBackPrepared();
      }
      statement.execute("DROP DATABASE IF EXISTS " + name() + " WITH (FORCE)");
      for (var role : roles) {
        statement.execute("DROP ROLE IF EXISTS " + quoted(role));
      }
    }
  }

  /** A session in another database of the server. */
  private Connection maintenance() throws SQLException {
    var login = new Login(host(), port(), server.database(), user(), password());
    var source = login.dataSource();
    // Creating and dropping databases waits for every backend of the server, a frozen one as well.
    source.setOptions("-c statement_timeout=" + MAINTENANCE_BOUND_MS);
    return source.getConnection();
  }
}
