package org.pgonce.internal.store;

/**
 * Refuses text that PostgreSQL cannot store, before any SQL: a lone surrogate is no character in
 * UTF-8, and text cannot hold NUL. The messages tell the place, never the text.
 */
public final class StorableText {

  private static final int LONGEST_KEY = 500;

  // Of a Unicode escape, in characters.
  private static final int ESCAPE = 6;

  private StorableText() {}

  /**
   * Returns a delivery key or an order key.
   *
   * @throws IllegalArgumentException that says what is wrong with it
   */
  public static String requireKey(String what, String key) {
    // As PostgreSQL counts them: a character beyond the first 65,536 is two in Java.
    var length = key.codePointCount(0, key.length());
    if (length < 1 || length > LONGEST_KEY) {
      throw new IllegalArgumentException(
          what + " has " + length + " characters, not between 1 and " + LONGEST_KEY);
    }
    for (var i = 0; i < key.length(); i += Character.charCount(key.codePointAt(i))) {
      requireStorable(what, key.codePointAt(i), i);
    }
    return key;
  }

  /**
   * Returns JSON. An escaped NUL is refused too: PostgreSQL accepts it in json, but a query that
   * reads the field as text would fail.
   *
   * @throws IllegalArgumentException that says what is wrong with it
   */
  public static String requireJson(String json) {
    var what = "the JSON of the payload";
    for (var i = 0; i < json.length(); ) {
      var unit = escapedUnit(json, i);
      if (unit < 0) {
        requireStorable(what, json.codePointAt(i), i);
        // What stands behind a backslash begins no escape of its own.
        i += json.charAt(i) == '\\' ? 2 : Character.charCount(json.codePointAt(i));
      } else if (Character.isSurrogatePair((char) unit, (char) escapedUnit(json, i + ESCAPE))) {
        i += 2 * ESCAPE;
      } else {
        requireStorable(what, unit, i);
        i += ESCAPE;
      }
    }
    return json;
  }

  /** The code unit that the escape at the index stands for; -1 if there is none. */
  private static int escapedUnit(String json, int index) {
    if (!json.startsWith("\\u", index) || index + ESCAPE > json.length()) {
      return -1;
    }
    try {
      return Integer.parseInt(json, index + 2, index + ESCAPE, 16);
    } catch (NumberFormatException e) {
      return -1; // Not JSON; PostgreSQL says so.
    }
  }

  private static void requireStorable(String what, int codePoint, int index) {
    if (codePoint == 0 || Character.getType(codePoint) == Character.SURROGATE) {
      throw new IllegalArgumentException(
          "%s holds %s at character %d, which PostgreSQL cannot store as text; remove or replace it"
              .formatted(what, codePoint == 0 ? "a NUL" : "a lone surrogate", index));
    }
  }
}
