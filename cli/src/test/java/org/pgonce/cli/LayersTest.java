package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Each package imports only what stands before it here. CONTRIBUTING names them. */
class LayersTest {

  private static final List<String> ORDER =
      List.of("terminal", "database", "look", "act", "schema", "doctor", "console");
  private static final Path SOURCES = Path.of("src/main/java/org/pgonce/cli");
  private static final Pattern OURS = Pattern.compile("\\borg\\.pgonce\\.cli\\.([a-z]+)");

  @Test
  void importsGoInOneDirection() throws Exception {
    var wrong = new ArrayList<String>();
    for (var own : ORDER) {
      try (var files = Files.list(SOURCES.resolve(own))) {
        for (var file : files.toList()) {
          OURS.matcher(Files.readString(file))
              .results()
              .map(found -> found.group(1))
              .filter(other -> ORDER.indexOf(other) > ORDER.indexOf(own))
              .forEach(other -> wrong.add(file + " imports " + other));
        }
      }
    }
    assertThat(wrong).isEmpty();
  }
}
