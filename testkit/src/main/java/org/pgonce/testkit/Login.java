package org.pgonce.testkit;

import com.impossibl.postgres.jdbc.PGDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import javax.sql.DataSource;
import org.junit.jupiter.api.Assumptions;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Where to connect and as whom. Immutable.
 *
 * @param user the role; for one made by {@link TestDatabase#loginRole} its unique name
 * @param password empty where none is needed
 */
public record Login(String host, int port, String database, String user, String password) {

  private static final String DRIVER = System.getProperty("pgonce.test.driver", "pgjdbc");

  /** The same role and database by way of a proxy. */
  public Login through(FaultProxy proxy) {
    return new Login(proxy.host(), proxy.port(), database, user, password);
  }

  /** Without user and password. */
  public String jdbcUrl() {
    return "jdbc:postgresql://" + host + ":" + port + "/" + database;
  }

  /**
   * Unpooled connections through pgjdbc; a new object at each call, for the caller to change as it
   * likes.
   */
  public PGSimpleDataSource dataSource() {
    var dataSource = new PGSimpleDataSource();
    dataSource.setServerNames(new String[] {host});
    dataSource.setPortNumbers(new int[] {port});
    dataSource.setDatabaseName(database);
    dataSource.setUser(user);
    dataSource.setPassword(password);
    return dataSource;
  }

  /** Unpooled connections through pgjdbc-ng; a new object at each call. */
  public PGDataSource ngDataSource() {
    var dataSource = new PGDataSource();
    dataSource.setServerName(host);
    dataSource.setPortNumber(port);
    dataSource.setDatabaseName(database);
    dataSource.setUser(user);
    dataSource.setPassword(password);
    return dataSource;
  }

  /**
   * Unpooled connections through the driver that the system property {@code pgonce.test.driver}
   * names: {@code pgjdbc}, the default, or {@code pgjdbc-ng}. A new object at each call.
   */
  public DataSource unpooled() {
    return isPgjdbcNg() ? ngDataSource() : dataSource();
  }

  /** Whether {@link #pooled} and {@link #unpooled} go through pgjdbc-ng. */
  public static boolean isPgjdbcNg() {
    return DRIVER.equals("pgjdbc-ng");
  }

  /**
   * Skips the test where {@link #isPgjdbcNg}.
   *
   * @param reason what pgjdbc-ng cannot do, or does not show: "pgjdbc-ng …"
   */
  public static void assumePgjdbc(String reason) {
    Assumptions.assumeFalse(isPgjdbcNg(), () -> "skipped: " + reason);
  }

  /** A pool of at most {@code size} connections as {@link #unpooled}. The caller closes it. */
  public HikariDataSource pooled(int size) {
    var config = new HikariConfig();
    // By URL and not by a DataSource object, as applications do: who needs the address can read it
    // off the pool.
    config.setJdbcUrl(isPgjdbcNg() ? jdbcUrl().replace("postgresql:", "pgsql:") : jdbcUrl());
    config.setUsername(user);
    config.setPassword(password);
    config.setMaximumPoolSize(size);
    // Most tests need two or three, and each is a process of the server.
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }

  /** Leaves the password out. */
  @Override
  public String toString() {
    return user + " at " + jdbcUrl();
  }
}
