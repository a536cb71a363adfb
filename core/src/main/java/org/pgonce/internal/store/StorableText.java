package org.pgonce.internal.store;

/** What JSON text PostgreSQL can store and hand out again. */
public final class StorableText {

  private StorableText() {}

  /**
   * Returns the JSON text, or refuses it: a lone surrogate is no character in UTF-8, and a NUL
   * (which PostgreSQL accepts as an escape in json but never in text) would fail whoever reads the
   * field in SQL.
   *
   * @throws IllegalArgumentException with the place, never the text
   */
  public static String requireStorable(String json) {
    for (var i = 0; i < json.length(); i++) {
      var c = json.charAt(i);
      if (c == '\\' && i + 1 < json.length()) {
        i += json.charAt(i + 1) == 'u' ? requireStorableEscape(json, i) : 1;
      } else if (Character.isHighSurrogate(c)
          && i + 1 < json.length()
          && Character.isLowSurrogate(json.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        throw refused("a lone surrogate", i);
      } else if (c == 0) {
        throw refused("a NUL character", i);
      }
    }
    return json;
  }

  /**
   * Checks the Unicode escape that begins at the index; returns how many characters after the
   * backslash it takes.
   */
  private static int requireStorableEscape(String json, int index) {
    var unit = codeUnit(json, index);
    if (unit == 0) {
      throw refused("a NUL character", index);
    }
    if (Character.isHighSurrogate((char) unit)
        && Character.isLowSurrogate((char) codeUnit(json, index + 6))) {
      return 11;
    }
    if (unit > 0 && Character.isSurrogate((char) unit)) {
      throw refused("a lone surrogate", index);
    }
    return 5;
  }

  /** The code unit that the escape at the index stands for; -1 if there is none. */
  private static int codeUnit(String json, int index) {
    if (index + 6 > json.length() || json.charAt(index) != '\\' || json.charAt(index + 1) != 'u') {
      return -1;
    }
    try {
      return Integer.parseInt(json, index + 2, index + 6, 16);
    } catch (NumberFormatException e) {
      return -1; // Not JSON; PostgreSQL says so.
    }
  }

  private static IllegalArgumentException refused(String what, int index) {
    return new IllegalArgumentException(
        "the payload holds "
            + what
            + " at character "
            + index
            + " of its JSON, which PostgreSQL cannot store as text; remove or replace it");
  }
}
