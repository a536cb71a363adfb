package org.pgonce.triggers;

/**
 * What happened to a row: the payload of a channel that {@link TriggerChannel#changesOf} begins.
 *
 * <pre>{@code
 * if (notification.payload() instanceof RowChange.Updated<Price> updated) {
 *   tell(updated.before().amount(), updated.after().amount());
 * }
 * }</pre>
 *
 * @param <R> the row: a record whose components are columns
 */
public sealed interface RowChange<R> {

  /** The row as it was inserted. */
  record Inserted<R>(R row) implements RowChange<R> {}

  /** The row before and after its update. */
  record Updated<R>(R before, R after) implements RowChange<R> {}

  /** The row as it was before it was deleted. */
  record Deleted<R>(R row) implements RowChange<R> {}

  /** The table was emptied; which rows it had, PostgreSQL does not tell. */
  record Truncated<R>() implements RowChange<R> {}
}
