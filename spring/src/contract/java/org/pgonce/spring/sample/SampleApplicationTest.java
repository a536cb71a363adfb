package org.pgonce.spring.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.builder.SpringApplicationBuilder;

/** The service of docs/spring.md. */
@PgTest
class SampleApplicationTest {

  /** The channel's table is made by Flyway, so pgonce is installed behind it. */
  @Test
  void s1_eachAuthorGetsItsFirstPost(TestDatabase database) throws Exception {
    for (var start = 1; start <= 2; start++) { // the second finds everything installed
      try (var context =
          new SpringApplicationBuilder(SampleApplication.class)
              .properties(
                  "spring.datasource.url=" + database.jdbcUrl(),
                  "spring.datasource.username=" + database.user(),
                  "spring.datasource.password=" + database.password(),
                  "spring.main.web-application-type=none")
              .run()) {
        var ada = context.getBean(Authors.class).save(new Author("Ada"));
        await()
            .atMost(Duration.ofSeconds(30))
            .untilAsserted(
                () ->
                    assertThat(context.getBean(Posts.class).findByAuthorId(ada.getId()))
                        .extracting(Post::getContent)
                        .containsExactly("Welcome, Ada!"));
      }
    }
  }
}
