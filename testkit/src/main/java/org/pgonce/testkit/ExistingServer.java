package org.pgonce.testkit;

import java.util.Properties;
import org.opentest4j.TestAbortedException;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** A server that somebody else started and goes on using. */
record ExistingServer(String host, int port, String user, String password, String database)
    implements TestServer {

  static ExistingServer at(String jdbcUrl) {
    var parts = Driver.parseURL(jdbcUrl, new Properties());
    if (parts == null) {
      throw new IllegalArgumentException(
          "it is no JDBC URL that the PostgreSQL driver reads: use jdbc:postgresql://host:port/database?user=…&password=…");
    }
    return new ExistingServer(
        part(PGProperty.PG_HOST, parts, "localhost"),
        Integer.parseInt(part(PGProperty.PG_PORT, parts, "5432")),
        part(PGProperty.USER, parts, "postgres"),
        part(PGProperty.PASSWORD, parts, ""),
        part(PGProperty.PG_DBNAME, parts, "postgres"));
  }

  private static String part(PGProperty property, Properties parts, String otherwise) {
    return parts.getProperty(property.getName(), otherwise);
  }

  @Override
  public boolean endsWithTheTests() {
    return false;
  }

  @Override
  public void stopImmediately() {
    throw notOurs();
  }

  @Override
  public void killPostmaster() {
    throw notOurs();
  }

  @Override
  public void restart() {
    throw notOurs();
  }

  @Override
  public TestServer standby() {
    throw notOurs();
  }

  @Override
  public long postmasterPid() {
    throw notOurs();
  }

  private static TestAbortedException notOurs() {
    return new TestAbortedException(
        "Skipped: only an embedded server is killed, and pgonce.test.server names an existing one");
  }

  @Override
  public void close() {
    // Somebody else's server.
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return jdbcUrl();
  }
}
