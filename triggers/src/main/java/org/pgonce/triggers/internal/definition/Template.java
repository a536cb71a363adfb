package org.pgonce.triggers.internal.definition;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** SQL in files, some of it with named placeholders, each a name in braces. */
public final class Template {

  private static final Pattern PLACEHOLDER = Pattern.compile("\\{([a-z_]+)}");

  private Template() {}

  /** The text of a file beside this package's module. */
  public static String text(String file) {
    try (var in =
        Objects.requireNonNull(
            Template.class.getResourceAsStream("/org/pgonce/triggers/" + file), file)) {
      return new String(in.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * The text of a file, filled in.
   *
   * @param values by the names of their placeholders; what looks like one in them stays as it is
   * @throws IllegalArgumentException if a placeholder has no value
   */
  static String fill(String file, Map<String, String> values) {
    return fill(file, "", values);
  }

  /**
   * The same with each line of the file indented. Lines of the values stay as they are: a text that
   * goes over several must.
   */
  static String fill(String file, String indent, Map<String, String> values) {
    return PLACEHOLDER
        .matcher(text(file).lines().map(line -> indent + line + "\n").collect(Collectors.joining()))
        .replaceAll(match -> Matcher.quoteReplacement(valueOf(match.group(1), values, file)));
  }

  private static String valueOf(String name, Map<String, String> values, String file) {
    var value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException(file + " has no value for {" + name + "}");
    }
    return value;
  }
}
