package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Prometheus' own checker, of Debian's package prometheus: its query engine, without a server. */
final class Promtool {

  private static final Pattern SAMPLE = Pattern.compile("(\\w+)(?:\\{(.*)})? (\\S+)");

  private Promtool() {}

  static void assumeInstalled() {
    assumeTrue(
        Stream.of(System.getenv("PATH").split(File.pathSeparator))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, "promtool"))),
        "no promtool: it is in Debian's package prometheus");
  }

  static void run(String... arguments) throws IOException, InterruptedException {
    var output = Files.createTempFile("promtool", ".txt");
    var command = new ArrayList<>(List.of(arguments));
    command.add(0, "promtool");
    var process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("promtool ended").isTrue();
      assertThat(process.exitValue()).as(Files.readString(output)).isZero();
    } finally {
      process.destroyForcibly();
      Files.delete(output);
    }
  }

  /** A test file by which each query has an answer where Prometheus has scraped this for 20 min. */
  static String queriesHaveAnswers(String scrape, List<String> queries) {
    var series =
        scrape
            .lines()
            .map(SAMPLE::matcher)
            .filter(Matcher::matches)
            .map(
                sample ->
                    "      - {series: %s, values: %s}"
                        .formatted(
                            quoted(
                                sample.group(1)
                                    + "{job=\"shop\",instance=\"a\""
                                    + (sample.group(2) == null ? "" : "," + sample.group(2))
                                    + "}"),
                            quoted(plain(sample.group(3)) + "+0x20")))
            .collect(Collectors.joining("\n"));
    var tests =
        queries.stream()
            .map(
                query ->
                    "      - {expr: %s, eval_time: 20m, exp_samples: [{labels: '{}', value: 1}]}"
                        .formatted(quoted("count(" + query + ") > bool 0")))
            .collect(Collectors.joining("\n"));
    return """
        evaluation_interval: 1m
        tests:
          - interval: 1m
            input_series:
        %s
            promql_expr_test:
        %s
        """
        .formatted(series, tests);
  }

  private static String plain(String number) {
    return number.equals("NaN") ? "0" : new BigDecimal(number).toPlainString();
  }

  private static String quoted(String text) {
    return "'" + text.replace("'", "''") + "'";
  }
}
