package org.pgonce.benchmarks.work;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.Objects;
import org.pgonce.testkit.JvmCommand;
import org.pgonce.testkit.TestDatabase;

/**
 * Tells another process where the database is; by its environment, which other users cannot read.
 */
public final class Address {

  private static final String URL = "PGONCE_BENCHMARK_DATABASE";
  private static final String USER = "PGONCE_BENCHMARK_USER";
  private static final String PASSWORD = "PGONCE_BENCHMARK_PASSWORD";

  private Address() {}

  public static JvmCommand tell(JvmCommand command, TestDatabase database) {
    return command
        .environment(URL, database.jdbcUrl())
        .environment(USER, database.user())
        .environment(PASSWORD, database.password());
  }

  /** In the other process: a pool there. The caller closes it. */
  public static HikariDataSource pool(int size) {
    var config = new HikariConfig();
    config.setJdbcUrl(Objects.requireNonNull(System.getenv(URL), URL));
    config.setUsername(System.getenv(USER));
    config.setPassword(System.getenv(PASSWORD));
    config.setMaximumPoolSize(size);
    // Many processes share the server: what idles does so with one connection.
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }
}
