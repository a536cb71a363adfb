package org.pgonce.records.internal.source;

/** A text as a Java string literal, which means the same in a comment: it ends no line of it. */
final class JavaLiteral {

  private JavaLiteral() {}

  static String of(String text) {
    var literal = new StringBuilder("\"");
    text.codePoints().forEach(c -> append(literal, c));
    return literal.append('"').toString();
  }

  private static void append(StringBuilder literal, int c) {
    switch (c) {
      case '"', '\\' -> literal.append('\\').appendCodePoint(c);
      case '\n' -> literal.append("\\n");
      case '\r' -> literal.append("\\r");
      case '\t' -> literal.append("\\t");
      default -> {
        if (c < ' ') {
          // Three digits: a digit that follows is none of its own.
          literal.append("\\%03o".formatted(c));
        } else if (isInvisible(c)) {
          for (var unit : Character.toChars(c)) {
            literal.append("\\u%04x".formatted((int) unit));
          }
        } else {
          literal.appendCodePoint(c);
        }
      }
    }
  }

  /** Such as marks that turn the direction of a line, which compilers warn of. */
  private static boolean isInvisible(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.PRIVATE_USE,
          Character.UNASSIGNED ->
          true;
      default -> false;
    };
  }
}
