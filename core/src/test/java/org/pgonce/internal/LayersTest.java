package org.pgonce.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each internal package imports only what stands above it here. CONTRIBUTING says what each is. */
class LayersTest {

  private static final List<String> ORDER =
      List.of(
          "text",
          "concurrent",
          "jdbc",
          "store",
          "context",
          "listen",
          "poll",
          "claim",
          "handle",
          "settle",
          "consume",
          "gate",
          "broadcast",
          "lifecycle");

  private static final Path SOURCES = Path.of("src/main/java/org/pgonce");
  private static final Pattern INTERNAL = Pattern.compile("\\borg\\.pgonce\\.internal\\.([a-z]+)");

  @Test
  void importsGoInOneDirection() throws IOException {
    var wrong = new ArrayList<String>();
    var packages = new ArrayList<String>();
    try (var directories = Files.list(SOURCES.resolve("internal"))) {
      directories.forEach(one -> packages.add(one.getFileName().toString()));
    }
    assertThat(packages).containsExactlyInAnyOrderElementsOf(ORDER);
    for (var own : ORDER) {
      for (var file : files(SOURCES.resolve("internal").resolve(own))) {
        INTERNAL
            .matcher(Files.readString(file))
            .results()
            .map(found -> found.group(1))
            .filter(other -> ORDER.indexOf(other) > ORDER.indexOf(own))
            .forEach(other -> wrong.add(file + " imports " + other));
      }
    }
    assertThat(wrong).isEmpty();
  }

  /** What others may implement knows nothing of how it is used. */
  @Test
  void theSpiImportsNothingInternal() throws IOException {
    for (var file : files(SOURCES.resolve("spi"))) {
      assertThat(Files.readString(file)).as(file.toString()).doesNotContainPattern(INTERNAL);
    }
  }

  private static List<Path> files(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files.filter(file -> file.toString().endsWith(".java")).toList();
    }
  }
}
