package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.example.run.ExitStatus;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** One clear message and a status for each way to use it wrongly. */
@PgTest
class WrongUseTest {

  @ParameterizedTest
  @CsvSource({
    "--processes 33, --processes 33 is not between 1 and 32",
    "--rosw 10, Unknown options: '--rosw'",
  })
  void aWrongOptionIsNamed(String arguments, String message) throws Exception {
    try (var run = ExampleRun.start(arguments.split(" "))) {
      var lines = run.awaitStatus(ExitStatus.WRONG_OPTION);
      assertThat(lines.get(0)).contains(message.replace("\\", ""));
      assertThat(lines).hasSize(2).last().asString().startsWith("See: listener-example");
    }
  }

  @ParameterizedTest
  @Tag("all") // a JVM for each
  @CsvSource({
    "--rows 0, --rows 0 is not between 1 and 10\\,000\\,000",
    "--rows many, '--rows': 'many' is not a long",
    "--kill-interval 1, --kill-interval 1 is not between 10 and 60\\,000",
    "--console 70000, --console 70000 is not between 0 and 65\\,535",
    "--mode twice, expected exactly-once or broadcast",
    "--url jdbc:mysql://localhost/x, not of the form jdbc:postgresql:",
    "mistake none, 'expected one of missing-table, missing-column, wrong-type'"
  })
  void soIsEachOther(String arguments, String message) throws Exception {
    aWrongOptionIsNamed(arguments, message);
  }

  @Test
  void anUnreachableServerIsNamed() throws Exception {
    try (var run = ExampleRun.start("-q", "--url", "jdbc:postgresql://127.0.0.1:1/postgres")) {
      assertOneMessage(run, "cannot connect to jdbc:postgresql://127.0.0.1:1/postgres");
    }
  }

  @Test
  void aWrongPasswordIsSaidWithoutIt(TestDatabase database) throws Exception {
    var login = database.loginRole("reader");
    try (var run =
        ExampleRun.start(
            "-q", "--user", login.user(), "--url", login.jdbcUrl() + "?password=hush-hush")) {
      assertOneMessage(run, "password authentication failed for user \"" + login.user() + "\"");
      assertThat(run.process().lines()).noneMatch(line -> line.contains("hush"));
    }
  }

  @Tag("all")
  @Test
  void aRoleThatMayNotMakeADatabaseIsTold(TestDatabase database) throws Exception {
    var login = database.loginRole("reader");
    try (var run =
        ExampleRun.start(
            "-q",
            "--user",
            login.user(),
            "--url",
            login.jdbcUrl() + "?password=" + login.password())) {
      assertOneMessage(run, "permission denied to create database");
    }
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(strings = {"missing-table", "missing-column", "wrong-type"})
  void aWrongDefinitionIsNamed(String mistake) throws Exception {
    var message =
        switch (mistake) {
          case "missing-table" -> "table auhtor does not exist";
          case "missing-column" -> "Writer.fullName has no column full_name in table public.author";
          default -> "NumberedAuthor.name is int, but column name of table public.author is text";
        };
    try (var run = ExampleRun.startOnSharedServer("mistake", "-q", mistake)) {
      assertOneMessage(run, message);
    }
  }

  @Tag("all")
  @Test
  void restartStopsOnlyServersOfItsOwn() throws Exception {
    assertThat(TestServer.shared().isRunning()).isTrue();
    try (var run = ExampleRun.startOnSharedServer("restart", "-q")) {
      assertOneMessage(run, "only to an embedded one");
    }
  }

  private static void assertOneMessage(ExampleRun run, String part) throws Exception {
    List<String> lines = run.awaitStatus(ExitStatus.CANNOT_RUN);
    var message = lines.stream().filter(line -> !line.startsWith("seed ")).toList();
    assertThat(message).hasSizeLessThanOrEqualTo(2).anyMatch(line -> line.contains(part));
    assertThat(message.get(0)).startsWith("cannot run: ");
  }
}
