package org.pgonce.records.internal.source;

import java.util.Map;

/**
 * A type as Java source writes it.
 *
 * @param text with simple names; a primitive where there is one
 */
record SourceType(String text) {

  private static final Map<String, String> BOXES =
      Map.of(
          "boolean", "Boolean",
          "short", "Short",
          "int", "Integer",
          "long", "Long",
          "float", "Float",
          "double", "Double");

  /** What can be null, and says so. */
  String nullable() {
    return text.equals("byte[]")
        ? "byte @Nullable []"
        : "@Nullable " + BOXES.getOrDefault(text, text);
  }

  /** How many of a method's 255 parameters it takes up. */
  int slots() {
    return text.equals("long") || text.equals("double") ? 2 : 1;
  }
}
