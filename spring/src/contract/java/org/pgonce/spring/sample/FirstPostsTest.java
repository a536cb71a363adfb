package org.pgonce.spring.sample;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.pgonce.spring.sample.Channels.AuthorRow;
import org.pgonce.test.PgOnceTester;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.pgonce.triggers.TriggerChannel;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

@DirtiesContext
@SpringBootTest(properties = "pgonce.auto-startup=false")
@Tag("second")
class FirstPostsTest {

  private static final TestDatabase DATABASE = TestServer.shared().createDatabase();

  @DynamicPropertySource
  static void database(DynamicPropertyRegistry properties) {
    properties.add("spring.datasource.url", DATABASE::jdbcUrl);
    properties.add("spring.datasource.username", DATABASE::user);
    properties.add("spring.datasource.password", DATABASE::password);
  }

  @Autowired PgOnceTester pgonce;
  @Autowired TriggerChannel<AuthorRow> authorAdded;
  @Autowired FirstPosts firstPosts;
  @Autowired Authors authors;

  @Test
  void eachAuthorGetsItsFirstPost() {
    authors.save(new Author("Ada"));
    pgonce.drain(authorAdded, (author, tx) -> firstPosts.write(author.payload()));
    assertThat(pgonce.count("select count(*) from post")).isEqualTo(1);
  }
}
