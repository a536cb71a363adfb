package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * The program of docs/migrations.md that prints a migration is compiled and run here. With {@code
 * -Dpgonce.texts.write=true} it is written there.
 */
@PgTest(PgOnceInstalled.class)
class PrintMigrationTest {

  private static final Path PAGE = Path.of("..", "docs", "migrations.md");
  private static final Path TEST =
      Path.of("src/test/java/org/pgonce/triggers/PrintMigrationTest.java");

  record Author(long id, String name) {}

  static final TriggerChannel<Author> AUTHOR_ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  // quoted: print
  /** Writes what the database lacks: java … PrintMigration <JDBC URL> <directory> <version> */
  static final class PrintMigration {

    public static void main(String[] arguments) throws Exception {
      try (var connection = DriverManager.getConnection(arguments[0])) {
        var migration = Triggers.migration(connection, AUTHOR_ADDED); // all channels of the service
        if (migration.isEmpty()) {
          System.out.println("the database is as defined");
          return;
        }
        for (var file : migration.flyway(arguments[2], "channels").entrySet()) {
          Files.writeString(Path.of(arguments[1], file.getKey()), file.getValue());
        }
      }
    }
  }

  // end

  @Test
  void example_aProgramWritesTheMigrationThatTheDatabaseLacks(
      TestDatabase database, @TempDir Path directory) throws Exception {
    database.execute("create table author (id bigint primary key, name text not null)");
    var url =
        "%s?user=%s&password=%s"
            .formatted(database.jdbcUrl(), database.user(), database.password());
    PrintMigration.main(new String[] {url, directory.toString(), "7"});
    assertThat(directory.toFile().list())
        .containsExactlyInAnyOrder("V7__channels.sql", "U7__channels.sql");
    database.execute(Files.readString(directory.resolve("V7__channels.sql")));
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, AUTHOR_ADDED)).isEmpty();
    }
  }

  @Test
  void api_thePageShowsTheProgramThatRuns() throws Exception {
    var quoted =
        Pattern.compile("(?s) *// quoted: print\n(.*?)\\s*// end\n")
            .matcher(Files.readString(TEST));
    assertThat(quoted.find()).isTrue();
    var code = quoted.group(1).stripIndent() + "\n";
    var page = Files.readString(PAGE);
    var shown = Pattern.compile("(?s)<!-- print -->\n\n```java\n(.*?)```\n").matcher(page);
    assertThat(shown.find()).isTrue();
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(
          PAGE, page.substring(0, shown.start(1)) + code + page.substring(shown.end(1)));
    } else {
      assertThat(shown.group(1)).isEqualTo(code);
    }
  }
}
