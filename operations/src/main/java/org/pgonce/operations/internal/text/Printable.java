package org.pgonce.operations.internal.text;

/**
 * Makes texts of the database fit for a terminal or a page. Whoever may publish chooses payloads,
 * keys and errors; an escape sequence in one could clear the screen, rename the window or type for
 * the operator.
 */
public final class Printable {

  private Printable() {}

  /** The text in one line: control, format and separating characters as Java escapes. */
  public static String line(String text) {
    if (text.chars().allMatch(unit -> unit >= ' ' && unit < 127)) {
      return text;
    }
    var line = new StringBuilder(text.length() + 16);
    text.codePoints().forEach(point -> append(line, point));
    return line.toString();
  }

  /** As {@link #line}, and its line breaks stay. */
  public static String lines(String text) {
    return String.join("\n", text.lines().map(Printable::line).toList());
  }

  private static void append(StringBuilder line, int point) {
    switch (point) {
      case '\n' -> line.append("\\n");
      case '\r' -> line.append("\\r");
      case '\t' -> line.append("\\t");
      default -> {
        if (isObeyed(point)) {
          for (var unit : Character.toChars(point)) {
            line.append("\\u%04x".formatted((int) unit));
          }
        } else {
          line.appendCodePoint(point);
        }
      }
    }
  }

  /** Whether a terminal, or a reader's eye, would be led by it: bidirectional marks as well. */
  public static boolean isObeyed(int point) {
    return switch (Character.getType(point)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          true;
      default -> false;
    };
  }
}
