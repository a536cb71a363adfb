package org.pgonce.internal.store;

/** Which texts can be a delivery key or an order key. */
public final class Keys {

  private static final int LONGEST = 500;

  private Keys() {}

  /**
   * Returns the key.
   *
   * @throws IllegalArgumentException that says what is wrong with it
   */
  public static String requireValid(String what, String key) {
    // As PostgreSQL counts them: a character beyond the first 65,536 is two in Java.
    var length = key.codePointCount(0, key.length());
    if (length < 1 || length > LONGEST) {
      throw new IllegalArgumentException(
          what + " has " + length + " characters, not between 1 and " + LONGEST);
    }
    for (var i = 0; i < key.length(); i++) {
      var c = key.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < key.length()
          && Character.isLowSurrogate(key.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c) || c == 0) {
        throw new IllegalArgumentException(
            "%s holds %s at character %d, which PostgreSQL cannot store as text"
                .formatted(what, c == 0 ? "a NUL" : "a lone surrogate", i));
      }
    }
    return key;
  }
}
