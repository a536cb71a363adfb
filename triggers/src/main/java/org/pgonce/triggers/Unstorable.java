package org.pgonce.triggers;

/**
 * What becomes of a row that a channel cannot store as it is defined: an expression fails (a column
 * that it names was dropped, a division by zero), a computed payload is null, the primary key that
 * alone is stored was dropped, a column that must not be stored has another name by now, or the row
 * as JSON would be longer than PostgreSQL takes (1 GB).
 */
public enum Unstorable {
  /**
   * The writer goes on. The row, and where the trigger fires per statement all rows of the
   * statement, become dead letters with reason NOT_STORABLE, the primary key as their payload as
   * far as the channel may store it, and what was wrong as their error. In {@link
   * org.pgonce.Mode#BROADCAST}, which stores nothing, they are not sent, with a WARNING.
   */
  DEAD_LETTER,
  /**
   * The writer's statement fails, with an error that says what is wrong with which column or
   * expression.
   */
  FAIL_WRITE
}
