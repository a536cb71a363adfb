package org.pgonce.triggers;

/**
 * What becomes of a row that a channel cannot store as it is defined: an expression or a cast to
 * json fails, a computed payload is null, a due time is infinity, an update shows fewer rows after
 * it than before it (see {@link TriggerForm#STATEMENT}), or the row as JSON would be longer than
 * PostgreSQL takes (1 GB).
 */
public enum Unstorable {
  /**
   * The default. The writer's statement fails with PostgreSQL's own error, whose context names the
   * channel's function. A row is stored if and only if its write is.
   */
  FAIL_WRITE,
  /**
   * The writer goes on. The row, and where the trigger fires per statement all rows of the
   * statement, become dead letters with reason NOT_STORABLE. Their payload is the primary key, as
   * the channel's function was made for it and as far as the channel may store it; <code>{}</code>
   * if nothing is left of it. Their error is what was wrong, but only its SQLSTATE where the
   * message may quote the row. They have neither an order key nor a delivery key, which may be what
   * could not be computed: they block none behind them ({@link org.pgonce.KeyOrder}), and the next
   * one of their delivery key is stored. In {@link org.pgonce.Mode#BROADCAST}, which stores
   * nothing, the rows are not sent, with a WARNING each.
   *
   * <p>It costs each write that everything is computed twice, the first time in a block that
   * catches errors. An error of the storing itself, such as a deadlock over a delivery key or a
   * full disk, fails the write all the same. So does a deadlock or a serialization failure of an
   * expression (class 40): the writer has to run its transaction again.
   */
  DEAD_LETTER
}
