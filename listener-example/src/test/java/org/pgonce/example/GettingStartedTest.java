package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.tools.ToolProvider;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.PomClassPath;
import org.pgonce.testkit.TestDatabase;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

/**
 * The steps of docs/getting-started.md, from an empty directory. Maven is not run: the class is
 * compiled and run over what the page's POM brings here.
 */
@PgTest
class GettingStartedTest {

  private static final Path PAGE = Path.of("../docs/getting-started.md");
  private static final Path PARENT = Path.of("../pom.xml");

  @Test
  void thePageRunsFromAnEmptyDirectory(TestDatabase database, @TempDir Path directory)
      throws Exception {
    var source = directory.resolve("src/main/java/Hello.java");
    Files.createDirectories(source.getParent());
    Files.writeString(source, quoted("java"));
    var classes = directory.resolve("target/classes").toString();
    var classPath =
        PomClassPath.of(
            dependencies().stream()
                .map(one -> text(one, "groupId") + ":" + text(one, "artifactId"))
                .toList());
    assertThat(classPath).doesNotContain("junit-jupiter", "picocli", "HdrHistogram", "jte-runtime");

    var options =
        List.of("-Xlint:all", "-Werror", "--release", "17", "-proc:none", "-cp", classPath);
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null)) {
      var with = new ArrayList<>(options);
      with.addAll(List.of("-d", classes));
      assertThat(
              compiler
                  .getTask(null, files, null, with, null, files.getJavaFileObjects(source))
                  .call())
          .isTrue();
    }

    var url = database.jdbcUrl() + "?user=" + database.user() + "&password=" + database.password();
    var output = directory.resolve("output").toFile();
    var run =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                classes + File.pathSeparator + classPath,
                "Hello",
                url)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output)
            .start();
    try {
      assertThat(run.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(Files.readString(output.toPath())).contains("Ada is greeted");
      assertThat(run.exitValue()).isZero();
    } finally {
      run.destroyForcibly();
    }
    assertThat(database.queryString("select words from greeting")).isEqualTo("Hello, Ada");
  }

  @Test
  void itsPomNamesTheVersionsOfThisProject() throws Exception {
    var parent = Files.readString(PARENT);
    assertThat(dependencies())
        .extracting(one -> text(one, "version"))
        .containsExactly(
            found(parent, "<artifactId>pgonce-parent</artifactId>\\s*<version>(.+?)</version>"),
            found(parent, "<hikaricp.version>(.+?)</hikaricp.version>"),
            found(parent, "<slf4j.version>(.+?)</slf4j.version>"));
  }

  private static List<Element> dependencies() throws Exception {
    var nodes =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new InputSource(new StringReader(quoted("xml"))))
            .getElementsByTagName("dependency");
    return IntStream.range(0, nodes.getLength()).mapToObj(i -> (Element) nodes.item(i)).toList();
  }

  private static String text(Element of, String name) {
    return of.getElementsByTagName(name).item(0).getTextContent();
  }

  private static String quoted(String language) throws Exception {
    return found(Files.readString(PAGE), "(?s)```" + language + "\n(.*?)```");
  }

  private static String found(String text, String pattern) {
    var found = Pattern.compile(pattern).matcher(text);
    assertThat(found.find()).as(pattern).isTrue();
    return found.group(1);
  }
}
