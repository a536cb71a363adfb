package org.pgonce.spring.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.PomClassPath;
import org.pgonce.testkit.TestDatabase;

/**
 * The steps of docs/getting-started-spring-boot.md, from an empty directory. Maven is not run: the
 * class is compiled and run over what the page's POM brings here.
 */
@PgTest
class GettingStartedTest {

  private static final Path PAGE = Path.of("../docs/getting-started-spring-boot.md");
  private static final Path PARENT = Path.of("../pom.xml");
  private static final Pattern DEPENDENCY =
      Pattern.compile("<dependency>\\s*<groupId>(.+?)</groupId>\\s*<artifactId>(.+?)</artifactId>");

  @Test
  void thePageRunsFromAnEmptyDirectory(TestDatabase database, @TempDir Path directory)
      throws Exception {
    var classes = directory.resolve("classes");
    compile(written(directory, "src/main/java/com/example/hello/HelloApplication.java"), classes);
    for (var resource : List.of("application.properties", "schema.sql")) {
      Files.copy(written(directory, "src/main/resources/" + resource), classes.resolve(resource));
    }
    var properties = classes.resolve("application.properties");
    Files.writeString(properties, of(database, Files.readString(properties)));

    var output = directory.resolve("output");
    var service =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                classes + File.pathSeparator + classPath(),
                "com.example.hello.HelloApplication")
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      awaitWhile(service, output, () -> assertLogged(output, "Started HelloApplication"));
      database.execute(quoted("psql -U postgres -c \"(.*)\"\n").replace("\\\"", "\""));
      awaitWhile(service, output, () -> assertLogged(output, "Ada is greeted"));
      awaitWhile(
          service,
          output,
          () ->
              assertThat(database.queryLong("select sum(backlog) from pgonce.channel_status"))
                  .isZero());
      assertThat(database.queryString("select string_agg(user_id || words, ';') from greeting"))
          .isEqualTo("42Hello, Ada");
      service.destroy(); // as Ctrl-C does
      assertThat(service.waitFor(60, TimeUnit.SECONDS)).isTrue();
    } finally {
      service.destroyForcibly();
    }
  }

  private static void awaitWhile(Process service, Path output, ThrowingRunnable holds) {
    await()
        .atMost(Duration.ofSeconds(60))
        .failFast(() -> assertThat(service.isAlive()).as(Files.readString(output)).isTrue())
        .untilAsserted(holds);
  }

  private static void assertLogged(Path output, String words) throws Exception {
    assertThat(Files.readString(output)).contains(words);
  }

  private static void compile(Path source, Path classes) throws Exception {
    Files.createDirectories(classes);
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      var options =
          List.of("--release", "17", "-proc:none", "-cp", classPath(), "-d", classes.toString());
      assertThat(
              compiler
                  .getTask(null, files, null, options, null, files.getJavaFileObjects(source))
                  .call())
          .isTrue();
    }
  }

  /** Of the starter that is tested here, where the page names one of the two. */
  private static String classPath() throws Exception {
    var module = Path.of("").toAbsolutePath().getFileName().toString();
    var artifacts =
        DEPENDENCY
            .matcher(quoted("(?s)```xml\n(.*?)```"))
            .results()
            .map(found -> found.group(1) + ":" + found.group(2))
            .map(artifact -> artifact.replaceAll("spring-boot-\\d", module))
            .toList();
    assertThat(artifacts).hasSize(1);
    var classPath = PomClassPath.of(artifacts);
    assertThat(classPath)
        .doesNotContain("junit-jupiter", "eclipselink", "spring-security", "jte-runtime");
    return classPath;
  }

  private static String of(TestDatabase database, String properties) {
    return properties
        .replace("url=jdbc:postgresql://localhost/postgres", "url=" + database.jdbcUrl())
        .replace("username=postgres", "username=" + database.user())
        .replace("password=secret", "password=" + database.password());
  }

  @Test
  void itsPomNamesTheVersionsOfThisProject() throws Exception {
    var pom = quoted("(?s)```xml\n(.*?)```");
    var parent = Files.readString(PARENT);
    assertThat(found(pom, "<artifactId>spring-boot-starter-parent</artifactId>\\s*<version>(.+?)<"))
        .isEqualTo(found(parent, "<spring-boot-4.version>(.+?)<"));
    assertThat(
            found(pom, "<artifactId>pgonce-spring-boot-4-starter</artifactId>\\s*<version>(.+?)<"))
        .isEqualTo(found(parent, "<artifactId>pgonce-parent</artifactId>\\s*<version>(.+?)<"));
    assertThat(quoted("With Spring Boot 3 the parent's version is `(.+?)`"))
        .isEqualTo(found(parent, "<spring-boot-3.version>(.+?)<"));
  }

  /** The page's file of that name. */
  private static Path written(Path directory, String name) throws Exception {
    var file = directory.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(
        file, quoted("(?s)\\*\\*\\d\\. `" + Pattern.quote(name) + "`\\*\\*.*?```\\w+\n(.*?)```"));
  }

  private static String quoted(String pattern) throws Exception {
    return found(Files.readString(PAGE), pattern);
  }

  private static String found(String text, String pattern) {
    var found = Pattern.compile(pattern).matcher(text);
    assertThat(found.find()).as(pattern).isTrue();
    return found.group(1);
  }
}
