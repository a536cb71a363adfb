package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * What docs/command-line.md shows is what the commands print, but for times. With {@code
 * -Dpgonce.texts.write=true} it is written there.
 */
@PgTest(PgOnceInstalled.class)
class CommandLinePageTest {

  private static final Path PAGE = Path.of("..", "docs", "command-line.md");
  private static final Path DOCTOR =
      Path.of("../operations/src/main/java/org/pgonce/operations/internal/doctor");
  private static final Pattern SAMPLE =
      Pattern.compile("(?s)<!-- pgonce ([^\n]*?) -->\n\n```\n(.*?)```\n");
  private static final Pattern ARGUMENT = Pattern.compile("'([^']*)'|(\\S+)");

  private final TimeZone ownZone = TimeZone.getDefault();

  @BeforeEach
  void elsewhere() {
    TimeZone.setDefault(TimeZone.getTimeZone("GMT+01:00"));
  }

  @AfterEach
  void back() {
    TimeZone.setDefault(ownZone);
  }

  @Test
  void thePageShowsWhatIsPrinted(TestDatabase database) throws Exception {
    Cli.publish(database, "{\"to\": \"ann@example.org\"}");
    Cli.bury(database, 12, "ATTEMPTS_USED_UP", "421 service not available");
    Cli.bury(database, 3, "REJECTED", "no such account");
    database.execute("create table author (id bigint primary key, name text not null)");
    var cli = new Cli(database.login());
    var page = Files.readString(PAGE);
    var written = new StringBuilder();
    var samples = SAMPLE.matcher(page);
    var count = 0;
    while (samples.find()) {
      count++;
      var printed = printed(cli, samples.group(1));
      samples.appendReplacement(
          written,
          Matcher.quoteReplacement(
              "<!-- pgonce %s -->\n\n```\n%s```\n".formatted(samples.group(1), printed)));
    }
    samples.appendTail(written);
    assertThat(count).isGreaterThanOrEqualTo(9);
    if (Boolean.getBoolean("pgonce.texts.write")) {
      Files.writeString(PAGE, written);
    } else {
      assertThat(page).isEqualTo(written.toString());
    }
  }

  private static String printed(Cli cli, String line) {
    var arguments = new ArrayList<String>();
    ARGUMENT
        .matcher(line)
        .results()
        .forEach(found -> arguments.add(found.group(1) == null ? found.group() : found.group(1)));
    var run = cli.run(arguments.toArray(new String[0]));
    assertThat(run.err()).isEmpty();
    var text =
        run.out()
            .replaceAll(
                "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\+01\\b", "2026-11-26 09:30:00+01")
            .replaceAll("'pid \\d+'", "'pid 4711'")
            .replaceAll("\\b\\d\\ds\\b", " 0s")
            .replaceAll("\\b\\ds\\b", "0s");
    // The others are of the server, and of other tests' sessions.
    return line.equals("doctor") ? only(text, "NO_LISTENER") : text;
  }

  private static String only(String findings, String... names) {
    return String.join(
        "\n",
        List.of(findings.split("\n(?=severity)")).stream()
            .filter(
                one -> List.of(names).stream().anyMatch(name -> one.contains(" " + name + "\n")))
            .map(one -> one.stripTrailing() + "\n")
            .toList());
  }

  @Test
  void thePageNamesEachCommandAndFinding() throws Exception {
    var page = Files.readString(PAGE);
    assertThat(CommandNames.all()).allMatch(command -> names(page, command), "is on the page");
    for (var source : List.of("Server", "Vacuum", "Table", "Channel", "Schema")) {
      var text = Files.readString(DOCTOR.resolve(source + "Checks.java"));
      Pattern.compile("(?:ERROR|WARNING|INFO),\\s+\"([A-Z_]+)\"")
          .matcher(text)
          .results()
          .forEach(found -> assertThat(page).contains("`" + found.group(1) + "`"));
    }
  }

  /** As a command: in code, with or without arguments, or as what is run for a sample. */
  private static boolean names(String page, String command) {
    return Pattern.compile("(`(pgonce )?|<!-- pgonce |<\\(pgonce )%s[ `)]".formatted(command))
        .matcher(page)
        .find();
  }
}
