package org.pgonce.example;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A test method that is named after a promise.
 *
 * @param source from the root of the checkout
 */
record NamedTest(Path source, String method) {

  private static final Pattern NAMED = Pattern.compile("\\bvoid ([hs]\\d+_\\w+)\\(");

  /** All of the checkout's modules, by their class and name. */
  static List<NamedTest> all(Path root) throws IOException {
    try (var modules = Files.list(root)) {
      return modules
          .flatMap(
              module ->
                  Stream.of(
                      module.resolve("src/test/java"),
                      module.resolve("src/contract/java"))) // run by several modules
          .filter(Files::isDirectory)
          .flatMap(NamedTest::sources)
          .sorted()
          .flatMap(source -> named(root, source))
          .toList();
    }
  }

  private static Stream<Path> sources(Path directory) {
    try (var files = Files.walk(directory)) {
      return files.filter(file -> file.toString().endsWith(".java")).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<NamedTest> named(Path root, Path source) {
    try {
      return NAMED
          .matcher(Files.readString(source))
          .results()
          .map(found -> new NamedTest(root.relativize(source), found.group(1)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** H3 for {@code h03_…}. */
  String code() {
    var digits = method.substring(1, method.indexOf('_'));
    return method.substring(0, 1).toUpperCase(Locale.ROOT) + Integer.parseInt(digits);
  }

  String type() {
    return source.getFileName().toString().replace(".java", "");
  }
}
