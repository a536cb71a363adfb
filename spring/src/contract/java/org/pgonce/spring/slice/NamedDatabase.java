package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.ActiveProfiles;

/** A database that a test names, in one way or another, is taken in place of a fresh one. */
@ActiveProfiles("developer")
@DirtiesContext
@Tag("second")
abstract class NamedDatabase {

  static final TestDatabase DATABASE = TestServer.shared().createDatabase();

  @Autowired HikariDataSource pool;

  @Test
  void isTheOne() {
    assertThat(pool.getJdbcUrl()).isEqualTo(DATABASE.jdbcUrl());
  }
}
