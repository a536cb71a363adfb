package org.pgonce.testkit;

import java.util.Map;

/**
 * A PostgreSQL server for tests.
 *
 * <p>System property {@code pgonce.test.server} (or environment variable {@code
 * PGONCE_TEST_SERVER}) chooses which:
 *
 * <ul>
 *   <li>{@code embedded} (default): started on this machine from the PostgreSQL binaries of the
 *       build, with {@code synchronous_commit} on, and with {@code fsync} on but for the one that
 *       all tests share, which nobody kills. It ends with this JVM, however the JVM ends.
 *   <li>a JDBC URL with user and password: a server that runs already; tests make fresh databases
 *       there and touch nothing else.
 *   <li>{@code docker}: a container.
 * </ul>
 *
 * <p>The user is a superuser that needs no password on embedded servers. Safe for use by several
 * threads, but {@link #stopImmediately()}, {@link #killPostmaster()} and {@link #restart()} must
 * not run at the same time.
 */
public sealed interface TestServer extends AutoCloseable
    permits EmbeddedServer, DockerServer, ExistingServer {

  /**
   * The one server that all tests of this JVM share; started at the first call, stopped when the
   * JVM ends. Closing it has no effect.
   */
  static TestServer shared() {
    return SharedServer.ofThisJvm();
  }

  /**
   * A server of the caller's own, which a test may kill. Where the property names a server that
   * runs already, the test that asks is skipped.
   */
  static TestServer start() {
    return start(Map.of());
  }

  /**
   * A server of the caller's own with other settings.
   *
   * @param settings server settings by name, such as {@code max_connections}; they win over the
   *     defaults
   */
  static TestServer start(Map<String, String> settings) {
    return ServerKind.configured().start(settings);
  }

  /**
   * An embedded server of the caller's own, whatever the property says: for programs that are no
   * tests.
   *
   * @param settings server settings by name; they win over the defaults
   */
  static TestServer startEmbedded(Map<String, String> settings) {
    return EmbeddedServer.start(settings, false);
  }

  /**
   * A server that runs already, whatever the property says: for programs that are no tests.
   *
   * @param jdbcUrl host, port, database, user and password are read from it, and nothing else; the
   *     user is to be a superuser
   * @throws IllegalArgumentException if it is none that the PostgreSQL driver reads
   */
  static TestServer existing(String jdbcUrl) {
    return ExistingServer.at(jdbcUrl);
  }

  String host();

  int port();

  /** A superuser. */
  String user();

  /** The user's password; empty where none is needed. */
  String password();

  /** The database for maintenance, never used by tests. */
  String database();

  /** The URL of {@link #database()} without user and password. */
  default String jdbcUrl() {
    return jdbcUrl(database());
  }

  /** The URL of the named database without user and password. */
  default String jdbcUrl(String database) {
    return "jdbc:postgresql://" + host() + ":" + port() + "/" + database;
  }

  /** A fresh database with a random name. The caller closes it. */
  default TestDatabase createDatabase() {
    return TestDatabase.create(this, "");
  }

  /**
   * As {@link #createDatabase()}, not in UTF-8.
   *
   * @param encoding by PostgreSQL's name, such as {@code LATIN1}
   */
  default TestDatabase createDatabase(String encoding) {
    return TestDatabase.create(this, " ENCODING '" + encoding + "' LOCALE 'C' TEMPLATE template0");
  }

  /**
   * As {@link #createDatabase()}, with what is in another one of this server, to which nobody is
   * connected.
   */
  default TestDatabase createDatabase(TestDatabase template) {
    return TestDatabase.create(this, " TEMPLATE " + template.name());
  }

  /** Whether it was started for the tests: false where it goes on running behind them. */
  default boolean endsWithTheTests() {
    return true;
  }

  /** Whether the server is meant to answer: false after a crash, until {@link #restart()}. */
  default boolean isRunning() {
    return true;
  }

  /**
   * Immediate shutdown: every process of the server ends without a checkpoint, clients are cut off.
   * Returns when it has ended. Skips the test unless the server is embedded.
   */
  void stopImmediately();

  /**
   * Kills the postmaster with SIGKILL, then its orphaned children. Returns when all are gone. Skips
   * the test unless the server is embedded.
   */
  void killPostmaster();

  /**
   * Starts the server again on the same data and the same port, after {@link #stopImmediately()} or
   * {@link #killPostmaster()}. Returns after crash recovery. Skips the test unless the server is
   * embedded.
   */
  void restart();

  /**
   * A standby that streams from this server, with its settings, until it is promoted: {@code SELECT
   * pg_promote()} there. The caller closes it. Skips the test unless the server is embedded.
   */
  TestServer standby();

  /**
   * The process id of the postmaster. Skips the test unless the server is embedded and running on
   * this machine.
   */
  long postmasterPid();

  @Override
  void close();
}
