package org.pgonce.example;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.mapping;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The text of docs/promises.md. A row's key is a code, as {@code H43}, or a code and a part of its
 * tests' names, as {@code H49 frozen}. A test stands in the first row that fits.
 */
record PromisePage(String text, List<String> keys) {

  private static final Pattern ROW =
      Pattern.compile("^\\| ([HS]\\d+(?: \\w+)?) \\| (.+?) \\|.*\\|$", Pattern.MULTILINE);

  PromisePage(String text) {
    this(text, ROW.matcher(text).results().map(row -> row.group(1)).toList());
  }

  /** The row that a test proves. */
  Optional<String> keyOf(NamedTest test) {
    return keys.stream().filter(key -> isOf(key, test)).findFirst();
  }

  private static boolean isOf(String key, NamedTest test) {
    var parts = key.split(" ", 2);
    return parts[0].equals(test.code()) && (parts.length == 1 || test.method().contains(parts[1]));
  }

  /** The same page, each row with its tests. */
  PromisePage listing(List<NamedTest> tests, Map<String, String> notTested) {
    var byKey =
        tests.stream()
            .filter(test -> keyOf(test).isPresent())
            .collect(groupingBy(test -> keyOf(test).orElseThrow()));
    return new PromisePage(
        ROW.matcher(text)
            .replaceAll(
                row ->
                    Matcher.quoteReplacement(
                        "| %s | %s | %s |"
                            .formatted(
                                row.group(1),
                                row.group(2),
                                cell(
                                    byKey.getOrDefault(row.group(1), List.of()),
                                    notTested.get(row.group(1)))))));
  }

  private static String cell(List<NamedTest> tests, @Nullable String why) {
    if (why != null) {
      return "no test yet: " + why;
    }
    var byClass =
        tests.stream()
            .collect(
                groupingBy(
                    test -> "[%s](../%s)".formatted(test.type(), test.source()),
                    LinkedHashMap::new,
                    mapping(test -> "#" + test.method(), joining(" "))));
    return byClass.entrySet().stream()
        .map(one -> one.getKey() + " " + one.getValue())
        .collect(joining("<br>"));
  }
}
