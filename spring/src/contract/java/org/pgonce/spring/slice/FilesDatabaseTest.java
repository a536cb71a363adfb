package org.pgonce.spring.slice;

import org.pgonce.spring.test.PgOnceListenerTest;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** By the application's files, where the test says so. */
@PgOnceListenerTest(properties = "spring.test.database.replace=none")
class FilesDatabaseTest extends NamedDatabase {

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry properties) {
    properties.add("test.developer.url", DATABASE::jdbcUrl);
    properties.add("spring.datasource.username", DATABASE::user);
    properties.add("spring.datasource.password", DATABASE::password);
  }
}
