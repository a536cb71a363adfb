package org.pgonce.internal.store;

import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Refuses text that PostgreSQL cannot store, before any SQL: a lone surrogate is no character in
 * UTF-8, and text cannot hold NUL. The messages tell the place, never the text.
 */
public final class StorableText {

  private static final int LONGEST_KEY = 500;

  // Of JSON: a Unicode escape with its code unit, or another one.
  private static final Pattern ESCAPE =
      Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|.)", Pattern.DOTALL);

  private StorableText() {}

  /** Returns a delivery key or an order key that can be stored, or says what is wrong with it. */
  public static String requireKey(String what, String key) {
    // As PostgreSQL counts them: a character beyond the first 65,536 is two in Java.
    var length = key.codePointCount(0, key.length());
    if (length < 1 || length > LONGEST_KEY) {
      throw new IllegalArgumentException(
          what + " has " + length + " characters, not between 1 and " + LONGEST_KEY);
    }
    requireStorable(what, key);
    return key;
  }

  /**
   * Returns JSON. An escaped NUL is refused too: PostgreSQL accepts it in json, but a query that
   * reads the field as text would fail.
   *
   * @param what it is the JSON of, for messages
   */
  public static String requireJson(String what, String json) {
    var named = "the JSON of " + what;
    requireStorable(named, json);
    if (json.contains("\\u")) {
      requireStorable(named, ESCAPE.matcher(json).replaceAll(StorableText::unescaped));
    }
    return json;
  }

  private static String unescaped(MatchResult escape) {
    var unit = escape.group(1);
    return unit == null
        ? "-"
        : Matcher.quoteReplacement(Character.toString(Integer.parseInt(unit, 16)));
  }

  private static void requireStorable(String what, String text) {
    for (var i = 0; i < text.length(); i += Character.charCount(text.codePointAt(i))) {
      var codePoint = text.codePointAt(i);
      if (codePoint == 0 || Character.getType(codePoint) == Character.SURROGATE) {
        throw new IllegalArgumentException(
            "%s holds %s at character %d, which PostgreSQL cannot store as text; remove or replace it"
                .formatted(what, codePoint == 0 ? "a NUL" : "a lone surrogate", i));
      }
    }
  }
}
