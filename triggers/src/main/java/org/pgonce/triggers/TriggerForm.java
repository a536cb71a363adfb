package org.pgonce.triggers;

/**
 * How a channel's triggers fire. The library chooses: per statement wherever that is right; per row
 * on partitioned tables, partitions, and tables that inherit or are inherited from, where a trigger
 * per statement does not see what is written by another name than its table's, and where columns
 * are listed ({@link TriggerChannelBuilder#afterUpdateOf}).
 */
public enum TriggerForm {
  /**
   * Once per statement, with all of its rows in a transition table: many rows cost one call and one
   * wake-up.
   *
   * <p>Where another trigger of the table writes the same row again, PostgreSQL fires this one for
   * the inner statement first: the older change gets the higher id, and comes last in an order per
   * key ({@link org.pgonce.KeyOrder}). Take {@link #ROW} there, and give that other trigger a name
   * that sorts behind {@code pgonce_}: triggers fire in the order of their names.
   *
   * <p>Asked for on a partitioned table, it sees what statements do by the table's own name, and a
   * row that an UPDATE moves to another partition as updated. One that a MERGE moves, PostgreSQL
   * (15 to 18) does not show as that: it makes no notification, or, where the same MERGE inserts or
   * deletes other rows, is told as inserted or deleted, whether or not that is all that became of
   * it. The plan warns of it. A row that moves, and is swallowed by a trigger of the other
   * partition, makes the statement's rows unstorable, see {@link Unstorable}: nobody knows which
   * rows before and after it belong together.
   */
  STATEMENT,
  /**
   * Once per row, which costs a bulk write some three times as much. A partition has a copy of the
   * trigger, whichever way its rows come. Where a definition names columns, or has SQL, its
   * function has the table's object id, by which sessions notice a column that gets another type:
   * install the channel again after a dump was restored, as {@link Triggers#check} says.
   */
  ROW,
  /**
   * Once per row, at the end of the writer's transaction (a constraint trigger, DEFERRABLE
   * INITIALLY DEFERRED), with the row as its statement left it. {@code SET CONSTRAINTS ALL
   * IMMEDIATE} brings it forward. Not for TRUNCATE.
   *
   * <p>Until it has fired, PostgreSQL refuses to TRUNCATE the table, to ALTER or to DROP it in the
   * same transaction («because it has pending trigger events»): {@code SET CONSTRAINTS ALL
   * IMMEDIATE} before that. To install it again in another form takes the table's owner, not the
   * right TRIGGER alone.
   *
   * <p>It reads the writer's context ({@link org.pgonce.WriterContext}) when it fires: a
   * notification has the context of the end of the transaction, whatever it was at the write. So a
   * channel with such a trigger has no subscription with a filter, which is refused.
   */
  DEFERRED
}
