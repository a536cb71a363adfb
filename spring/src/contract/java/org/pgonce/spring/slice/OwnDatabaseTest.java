package org.pgonce.spring.slice;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.spring.test.PgOnceListenerTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** A database that the test itself names is taken. */
@PgOnceListenerTest
@ActiveProfiles("developer")
@DirtiesContext
@Tag("second")
class OwnDatabaseTest {

  private static final TestDatabase DATABASE = TestServer.shared().createDatabase();

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry properties) {
    properties.add("spring.datasource.url", DATABASE::jdbcUrl);
    properties.add("spring.datasource.username", DATABASE::user);
    properties.add("spring.datasource.password", DATABASE::password);
  }

  @Autowired HikariDataSource pool;

  @Test
  void isTheOne() {
    assertThat(pool.getJdbcUrl()).isEqualTo(DATABASE.jdbcUrl());
  }
}
