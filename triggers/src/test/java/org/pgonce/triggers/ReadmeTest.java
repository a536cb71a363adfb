package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What the README shows compiles and runs: its text is read here, not repeated. */
@PgTest(PgOnceInstalled.class)
class ReadmeTest {

  /** The README's example, and its line that publishes. */
  private static final String AROUND =
      """
      import java.sql.Connection;
      import javax.sql.DataSource;
      import org.pgonce.*;
      import org.pgonce.triggers.*;

      public class Readme {
        %s

        public static PgOnce start(DataSource dataSource) {
          return serve(dataSource);
        }

        record SignedUp(long userId) {}

        static final Channel<SignedUp> SIGNED_UP = %s;

        public static void publish(DataSource dataSource, Connection connection) throws Exception {
          try (var pgonce = PgOnce.using(dataSource)) {
            pgonce.install(SIGNED_UP);
            %s
          }
        }
      }
      """;

  @TempDir private static Path classes;

  private static String readme = "";
  private static Class<?> program = ReadmeTest.class;
  private static URLClassLoader loader = new URLClassLoader(new URL[0]);

  @BeforeAll
  static void compile() throws Exception {
    readme = Files.readString(Path.of("../README.md"));
    var source =
        AROUND.formatted(
            found("```java\n(record .*?)```"),
            found("`(Channel\\.of\\(.*?\\))`"),
            found("(pgonce\\.publisher\\(\\)\\.publish\\(connection, [^\n]*)"));
    var file = Files.writeString(classes.resolve("Readme.java"), source);
    var said = new ByteArrayOutputStream();
    var status =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                said,
                said,
                "-proc:none",
                "-classpath",
                System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")),
                file.toString());
    assertThat(status).as("javac says: %s", said).isZero();
    loader =
        new URLClassLoader(new URL[] {classes.toUri().toURL()}, ReadmeTest.class.getClassLoader());
    program = loader.loadClass("Readme");
  }

  @AfterAll
  static void close() throws IOException {
    loader.close();
  }

  private static String found(String pattern) {
    var matcher = Pattern.compile(pattern, Pattern.DOTALL).matcher(readme);
    assertThat(matcher.find()).as("the README has a text like %s", pattern).isTrue();
    return matcher.group(1);
  }

  @Test
  void s01_theTenLinesGiveEveryAuthorOnePost(TestDatabase database) throws Exception {
    database.execute(
        """
        create table author (id bigint generated always as identity primary key, name text not null);
        create table post (author_id bigint not null, content text not null)
        """);
    var pool = database.pooled(8);
    try (var pgonce = (PgOnce) program.getMethod("start", DataSource.class).invoke(null, pool)) {
      database.execute(
          "insert into author (name) select 'author ' || g from generate_series(1, 50) g");
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () ->
                  database.queryLong("select count(*) from post where content like 'Welcome%'")
                      >= 50);
    }
    assertThat(database.queryLong("select count(*) from post")).isEqualTo(50);
    assertThat(database.queryLong("select count(distinct author_id) from post")).isEqualTo(50);
    assertThat(database.queryLong("select count(*) from pgonce.listener_status")).isZero();
  }

  @Test
  void publishingFromJavaAndFromSqlStoresTheSamePayload(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      program
          .getMethod("publish", DataSource.class, Connection.class)
          .invoke(null, database.unpooled(), connection);
    }
    database.execute(found("or: (select pgonce\\.publish\\([^\n]*)"));

    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0 and payload::jsonb = '{\"user_id\": 42}'"))
        .isEqualTo(2);
  }
}
