package org.pgonce.test;

import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * A fresh, empty database on the server of {@link PgOnceTest}, for tests whose database a framework
 * has to be told. Safe for use by several threads.
 */
public final class FreshDatabase implements AutoCloseable {

  private final TestServer server;
  private final String name;

  FreshDatabase(TestServer server, String name) {
    this.server = server;
    this.name = name;
  }

  /**
   * Makes one.
   *
   * @throws org.pgonce.PgOnceException if there is no server, or it refuses
   */
  public static FreshDatabase create() {
    return TestServer.get().create();
  }

  /** Of pgjdbc, without the login. */
  public String url() {
    return pgjdbc().getURL();
  }

  /** The login, which may create databases and roles; null if the server's URL names none. */
  public @Nullable String user() {
    return pgjdbc().getUser();
  }

  /** Null if the server asks for none. */
  public @Nullable String password() {
    return pgjdbc().getPassword();
  }

  /** A connection of its own for each that is asked for. */
  public DataSource dataSource() {
    return pgjdbc();
  }

  private PGSimpleDataSource pgjdbc() {
    return server.dataSource(name);
  }

  /** Drops it, with the sessions that are left in it. */
  void drop() {
    server.drop(name);
  }

  /**
   * Drops it, with the sessions that are left in it; not on an embedded server, which ends with the
   * JVM, its databases too, and may have ended before.
   */
  @Override
  public void close() {
    if (!server.endsWithJvm()) {
      drop();
    }
  }

  String name() {
    return name;
  }
}
