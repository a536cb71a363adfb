package org.pgonce.triggers.internal.definition;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/** SQL with named placeholders, each a name in braces. */
final class Template {

  private static final Pattern PLACEHOLDER = Pattern.compile("\\{([a-z_]+)}");

  private Template() {}

  /**
   * The text of a file beside this package's module, filled in.
   *
   * @param values by the names of their placeholders; one without a value stays as it is
   */
  static String fill(String file, Map<String, String> values) {
    try (var in =
        Objects.requireNonNull(
            Template.class.getResourceAsStream("/org/pgonce/triggers/" + file), file)) {
      return PLACEHOLDER
          .matcher(new String(in.readAllBytes(), UTF_8))
          .replaceAll(
              match ->
                  java.util.regex.Matcher.quoteReplacement(
                      values.getOrDefault(match.group(1), match.group())));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
