package org.pgonce.jackson;

/** A path in a message: one of five hundred steps would leave no room for what is wrong there. */
final class FieldPath {

  private static final int LONGEST = 400;

  private FieldPath() {}

  static String inWords(StringBuilder path) {
    return " at " + (path.length() <= LONGEST ? path : path.substring(0, LONGEST) + "...");
  }
}
