package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * What docs/guards.md shows of a listener is in {@link ParcelTest}, which is compiled and run. With
 * {@code -Dpgonce.texts.write=true} it is written there.
 */
class GuardsPageTest {

  private static final Path PAGE = Path.of("..", "docs", "guards.md");
  private static final Path TEST = Path.of("src/test/java/org/pgonce/guards/ParcelTest.java");

  /** A block of code of the page, and what is before and behind it. */
  record Block(String before, String code, String after) {}

  /** The block below the mark of this name. */
  static Block block(String name) throws IOException {
    var page = Files.readString(PAGE);
    var found = Pattern.compile("(?s)<!-- " + name + " -->\n\n```[a-z]+\n(.*?)```\n").matcher(page);
    assertThat(found.find()).isTrue();
    return new Block(
        page.substring(0, found.start(1)), found.group(1), page.substring(found.end(1)));
  }

  @Test
  void api_thePageShowsWhatRuns() throws Exception {
    var quoted =
        Pattern.compile("(?s) *// quoted: listener\n(.*?)\\s*// end\n")
            .matcher(Files.readString(TEST));
    assertThat(quoted.find()).isTrue();
    var code = quoted.group(1).stripIndent() + "\n";
    var block = block("listener");
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(PAGE, block.before() + code + block.after());
    } else {
      assertThat(block.code()).isEqualTo(code);
    }
  }
}
