package org.pgonce.cli.terminal;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.JsonText;
import org.pgonce.operations.internal.text.Printable;

/** Writes one document. A time is a string in UTC, a duration a number of seconds. */
public final class Json {

  private Json() {}

  public static String of(@Nullable Object value) {
    if (value == null) {
      return "null";
    } else if (value instanceof JsonText json) {
      return oneLine(json.text());
    } else if (value instanceof Boolean || value instanceof Number) {
      return value.toString();
    } else if (value instanceof Duration duration) {
      return BigDecimal.valueOf(duration.toMillis(), 3).toPlainString();
    } else if (value instanceof Instant instant) {
      return quoted(instant.toString());
    } else if (value instanceof Map<?, ?> object) {
      return object.entrySet().stream()
          .map(entry -> quoted(String.valueOf(entry.getKey())) + ": " + of(entry.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
    } else if (value instanceof List<?> list) {
      return list.stream().map(Json::of).collect(Collectors.joining(", ", "[", "]"));
    } else {
      return quoted(value.toString());
    }
  }

  private static String quoted(String text) {
    var quoted = text.replace("\\", "\\\\").replace("\"", "\\\"");
    return '"' + escaped(quoted) + '"';
  }

  private static String escaped(String text) {
    var json = new StringBuilder(text.length());
    text.chars()
        .forEach(
            unit ->
                json.append(
                    Printable.isObeyed(unit)
                        ? "\\u%04x".formatted(unit)
                        : String.valueOf((char) unit)));
    return json.toString();
  }

  /** Line breaks are between tokens only: in a string the database has them escaped. */
  private static String oneLine(String json) {
    return escaped(json.replaceAll("[\\t\\n\\r]", " "));
  }
}
