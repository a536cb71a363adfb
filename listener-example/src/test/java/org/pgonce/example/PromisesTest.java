package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every promise of docs/promises.md has a test, and the page lists the tests that are there. */
class PromisesTest {

  private static final Path ROOT = Path.of("..");
  private static final Path FILE = ROOT.resolve("docs/promises.md");
  private static final String WRITE = "pgonce.promises.write";

  /** Rows that no test proves yet, and why. */
  private static final Map<String, String> NOT_TESTED = Map.of();

  private static List<NamedTest> tests = List.of();
  private static PromisePage page = new PromisePage("");

  @BeforeAll
  static void read() throws IOException {
    tests = NamedTest.all(ROOT);
    page = new PromisePage(Files.readString(FILE));
    if (Boolean.getBoolean(WRITE)) {
      page = page.listing(tests, NOT_TESTED);
      Files.writeString(FILE, page.text());
    }
  }

  @Test
  void everyCodeInTheNameOfATestIsARowOfThePage() {
    assertThat(tests).isNotEmpty().allSatisfy(test -> assertThat(page.keyOf(test)).isPresent());
  }

  @Test
  void everyRowHasATestOrSaysWhyNot() {
    var tested = tests.stream().flatMap(test -> page.keyOf(test).stream()).toList();
    assertThat(page.keys())
        .doesNotHaveDuplicates()
        .filteredOn(key -> !tested.contains(key))
        .as("rows without a test")
        .containsExactlyInAnyOrderElementsOf(NOT_TESTED.keySet());
  }

  @Test
  void thePageListsTheTestsThatAreThere() {
    assertThat(page.text().lines().toList())
        .as("docs/promises.md; -D%s=true writes its lists anew", WRITE)
        .isEqualTo(page.listing(tests, NOT_TESTED).text().lines().toList());
  }
}
