package org.pgonce.spring.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.test.FreshDatabase;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.Migration;
import org.pgonce.triggers.Triggers;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/** From pgonce.install=always to migrations that are printed, as docs/migrations.md says. */
@PgTest
@Tag("second")
class PrintedOverInstalledTest {

  private static ConfigurableApplicationContext start(
      String url, String user, String password, String... properties) {
    return new SpringApplicationBuilder(SampleApplication.class)
        .properties(
            "spring.datasource.url=" + url,
            "spring.datasource.username=" + user,
            "spring.datasource.password=" + password,
            "spring.main.web-application-type=none")
        .properties(properties)
        .run();
  }

  private static ConfigurableApplicationContext start(TestDatabase database, String... properties) {
    return start(database.jdbcUrl(), database.user(), database.password(), properties);
  }

  static Migration lacking(ApplicationContext service) throws SQLException {
    try (var connection = service.getBean(DataSource.class).getConnection()) {
      var channels = service.getBeansOfType(Channel.class).values();
      return Triggers.migration(connection, channels.toArray(Channel<?>[]::new));
    }
  }

  private static String printedOverFreshTables() throws SQLException {
    try (var fresh = FreshDatabase.create();
        var service =
            start(
                fresh.url(),
                fresh.user(),
                fresh.password(),
                "pgonce.install=never",
                "pgonce.auto-startup=false")) {
      try (var connection = fresh.dataSource().getConnection();
          var statement = connection.createStatement()) {
        statement.execute(PgOnce.migration());
      }
      return lacking(service).up();
    }
  }

  @Test
  void aServiceThatHasInstalledRunsWhatIsPrintedOverFreshTables(TestDatabase database)
      throws Exception {
    try (var installing = start(database, "pgonce.auto-startup=false")) {
      installing.getBean(Authors.class).save(new Author("Ada")); // waits
      assertThat(lacking(installing).isEmpty()).isTrue();
    }
    var printed = printedOverFreshTables();
    assertThat(printed).contains("author_inserted", "first_post_written");
    database.execute(PgOnce.migration());
    database.execute(printed);
    try (var validating = start(database, "pgonce.install=validate")) {
      validating.getBean(Authors.class).save(new Author("Grace"));
      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(validating.getBean(Posts.class).findAll())
                      .extracting(Post::getContent)
                      .containsExactlyInAnyOrder("Welcome, Ada!", "Welcome, Grace!"));
      assertThat(lacking(validating).isEmpty()).isTrue();
    }
  }

  @Test
  void thePageQuotesIt() throws Exception {
    var file = "spring/src/contract/java/org/pgonce/spring/sample/PrintedOverInstalledTest.java";
    var source = Files.readString(Path.of("..", file));
    var begin = source.indexOf("  static Migration lacking");
    var quoted = source.substring(begin, source.indexOf("\n  }\n", begin) + 5);
    assertThat(Files.readString(Path.of("../docs/migrations.md")))
        .contains("```java\n" + quoted.indent(-2) + "```");
  }
}
