package org.pgonce.triggers;

import java.util.Objects;

/** SQL that a definition gives. */
final class SqlText {

  private SqlText() {}

  /** Returns it if it may stand in a function; the database says at the installation if it can. */
  static String requireExpression(String what, String sql) {
    Objects.requireNonNull(sql, what);
    if (sql.isBlank() || sql.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "the SQL of the " + what + " is empty, or has a character that SQL cannot have");
    }
    return sql.strip();
  }
}
