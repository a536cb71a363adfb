package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the pages link to is there: files, and headings within pages. */
class LinksTest {

  private static final Path ROOT = Path.of("..");
  private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.+)$");
  private static final Pattern LINK =
      Pattern.compile("]\\((?!https?:)([^)#\\s]*)(?:#([^)\\s]+))?\\)");

  @Test
  void eachLinkLeadsSomewhere() throws IOException {
    var pages = pages();
    assertThat(pages).hasSizeGreaterThan(20);
    for (var page : pages) {
      assertThat(deadLinks(page)).as(page.toString()).isEmpty();
    }
  }

  private static List<Path> pages() throws IOException {
    try (var top = Files.list(ROOT);
        var docs = Files.walk(ROOT.resolve("docs"))) {
      return Stream.concat(top, docs)
          .filter(file -> file.toString().endsWith(".md"))
          .map(Path::normalize)
          .toList();
    }
  }

  private static List<String> deadLinks(Path page) throws IOException {
    return LINK.matcher(text(page))
        .results()
        .filter(link -> !leadsSomewhere(page, link.group(1), link.group(2)))
        .map(link -> link.group())
        .toList();
  }

  private static boolean leadsSomewhere(Path page, String file, @Nullable String heading) {
    var target = file.isEmpty() ? page : page.resolveSibling(file).normalize();
    try {
      return Files.exists(target)
          && (heading == null
              || !(file.isEmpty() || file.endsWith(".md"))
              || anchors(target).contains(heading));
    } catch (IOException e) {
      throw new AssertionError(target.toString(), e);
    }
  }

  /** As GitHub makes them of headings, no two of which are equal on a page. */
  private static Set<String> anchors(Path page) throws IOException {
    return HEADING
        .matcher(text(page))
        .results()
        .map(heading -> heading.group(1).toLowerCase(Locale.ROOT))
        .map(heading -> heading.replaceAll("[^\\p{L}\\p{N}_ -]", "").replace(' ', '-'))
        .collect(Collectors.toSet());
  }

  private static String text(Path page) throws IOException {
    return CODE.matcher(Files.readString(page)).replaceAll("");
  }
}
