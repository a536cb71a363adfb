package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The quickstart runs, and the README has its lines word by word. */
@PgTest
class QuickstartTest {

  private static final Path SOURCE = Path.of("src/main/java/org/pgonce/example/Quickstart.java");
  private static final Pattern QUOTED =
      Pattern.compile("// tag::readme\\[]\n(.*?)\n *// end::readme\\[]", Pattern.DOTALL);

  /** Ended also when the tests are killed. */
  static final class Main {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      Quickstart.main(arguments);
    }
  }

  @Test
  void theReadmeQuotesIt() throws Exception {
    var quoted = QUOTED.matcher(Files.readString(SOURCE));
    assertThat(quoted.find()).isTrue();
    assertThat(Files.readString(Path.of("../README.md")))
        .contains("```java\n" + quoted.group(1).stripTrailing().stripIndent() + "\n```");
  }

  @Test
  void s01_anAuthorGetsItsFirstPost(TestDatabase database) throws Exception {
    var url = database.jdbcUrl() + "?user=" + database.user() + "&password=" + database.password();
    try (var run = JvmProcess.start(Main.class, url)) {
      assertThat(run.awaitExit(ExampleRun.BOUND)).as("%s", run.lines()).isZero();
      assertThat(run.lines()).contains("Ada has her first post");
    }
    assertThat(database.queryLong("select count(*) from post")).isEqualTo(1);
  }
}
