package org.pgonce.benchmarks.work;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.pgonce.testkit.TestDatabase;

/** Pools, the same for every contender. */
public final class Pools {

  private Pools() {}

  /** HikariCP over pgjdbc, with their defaults. The caller closes it. */
  public static HikariDataSource of(TestDatabase database, int size) {
    var config = new HikariConfig();
    config.setJdbcUrl(database.jdbcUrl());
    config.setUsername(database.user());
    config.setPassword(database.password());
    config.setMaximumPoolSize(size);
    return new HikariDataSource(config);
  }
}
