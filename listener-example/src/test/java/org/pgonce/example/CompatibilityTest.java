package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** docs/compatibility.md has the versions of the POM. */
class CompatibilityTest {

  private static final Path DOCS = Path.of("../docs");

  private static final Map<String, List<String>> ROWS =
      Map.of(
          "pgjdbc", List.of("pgjdbc", "spring-boot-3.pgjdbc", "spring-boot-4.pgjdbc"),
          "pgjdbc-ng", List.of("pgjdbc-ng"),
          "HikariCP", List.of("hikaricp", "spring-boot-3.hikaricp", "spring-boot-4.hikaricp"),
          "Jackson 3", List.of("jackson", "spring-boot-4.jackson"),
          "Jackson 2", List.of("jackson2", "spring-boot-3.jackson2"),
          "Micrometer", List.of("micrometer", "micrometer-newest"),
          "Spring Boot", List.of("spring-boot-3", "spring-boot-4", "spring-boot-4-newest"),
          "EclipseLink", List.of("spring-boot-3.eclipselink", "spring-boot-4.eclipselink"),
          "Kotlin", List.of("kotlin", "spring-boot-3.kotlin"));

  @Test
  void itsVersionsAreThePoms() throws Exception {
    var page = Files.readString(DOCS.resolve("compatibility.md"));
    var pom = Files.readString(Path.of("../pom.xml"));
    for (var row : ROWS.entrySet()) {
      for (var property : row.getValue()) {
        var name = Pattern.quote(property + ".version");
        var version = Pattern.compile("<" + name + ">(.+?)</" + name + ">").matcher(pom);
        assertThat(version.find()).as(property).isTrue();
        assertThat(lines(page, row.getKey())).as(property).contains(version.group(1));
      }
    }
  }

  /** The row with that name, and those below that have none. */
  private static String lines(String page, String name) {
    var rows = Arrays.asList(page.split("\n"));
    var first = rows.stream().filter(row -> row.startsWith("| " + name + " |")).findFirst();
    assertThat(first).as(name).isPresent();
    var from = rows.indexOf(first.get());
    var to = from + 1;
    while (rows.get(to).startsWith("| |")) {
      to++;
    }
    return String.join("\n", rows.subList(from, to));
  }
}
