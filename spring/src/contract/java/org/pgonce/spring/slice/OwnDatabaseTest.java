package org.pgonce.spring.slice;

import org.pgonce.spring.test.PgOnceListenerTest;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** By the test's own properties. */
@PgOnceListenerTest
class OwnDatabaseTest extends NamedDatabase {

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry properties) {
    properties.add("spring.datasource.url", DATABASE::jdbcUrl);
    properties.add("spring.datasource.username", DATABASE::user);
    properties.add("spring.datasource.password", DATABASE::password);
  }
}
