package org.pgonce;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The transaction that a handler runs in. In {@link Mode#EXACTLY_ONCE} it is the one that claimed
 * the notification and that deletes it: what is written here takes effect together with the
 * notification's end, or not at all. In {@link Mode#BROADCAST} it is an own one, begun by its first
 * use and committed when the handler returns.
 *
 * <p>Belongs to the handler's thread, until the handler returns.
 */
public interface Tx {

  /**
   * The JDBC connection, guarded: it does not commit, roll back, close or change its session for
   * good, by method or by SQL text; it says what to do instead. Own savepoints and {@code SET
   * LOCAL} are free to use; the latter not by a plain handler in a batch, see {@link
   * ListenOptions#batch()}.
   *
   * @throws SQLException in BROADCAST, when the data source has none
   */
  Connection connection() throws SQLException;

  /**
   * Runs one INSERT, UPDATE, DELETE or DDL statement.
   *
   * @param parameters set by {@link java.sql.PreparedStatement#setObject(int, Object)}; null is
   *     NULL
   * @return the number of rows
   */
  int update(String sql, @Nullable Object... parameters) throws SQLException;

  /**
   * Runs one query and maps each row.
   *
   * @param parameters as of {@link #update}
   */
  <R extends @Nullable Object> List<R> query(
      String sql, RowMapper<R> mapper, @Nullable Object... parameters) throws SQLException;

  /**
   * Publishes within this transaction: it is stored if and only if the handler's other effects are.
   *
   * @return the notification's id
   */
  <P> long publish(Channel<P> channel, P payload) throws SQLException;

  /** Publishes within this transaction, with options, as {@link Publisher} does. */
  <P> Published publish(Channel<P> channel, P payload, PublishOptions options) throws SQLException;

  /**
   * Runs the action once this run's transaction is committed, the end of the notification included.
   * It does not run if the transaction was rolled back, if the answer to the commit was lost, or if
   * the process dies right behind the commit: what must happen is published instead. In {@link
   * Mode#BROADCAST} without a transaction it runs when the handler has returned.
   *
   * <p>Runs on this thread before that claims again, outside of the transaction and of the handler
   * timeout. Nothing bounds it: the worker, which counts for {@link ListenOptions#concurrency()},
   * waits for it, and so does {@link PgOnce#stop}, which interrupts it when its time is over, and
   * each that follows. No connection of the transaction is held meanwhile, unless the run is undone
   * to run again.
   *
   * <p>Several run in the order of their registration, of a batch all together; of a batch, behind
   * those of the same claim that were handled one by one. What one throws is logged, and changes
   * nothing.
   *
   * @throws IllegalStateException on another thread than the handler's, or once the handler has
   *     returned
   */
  void afterCommit(Runnable action);

  /**
   * As {@link #afterCommit}, however the transaction ended; behind those. If the run is undone to
   * run again at once ({@link ListenOptions#maxAttempts()}), that waits for it, within the handler
   * timeout. If the handler was cut off, it runs when the handler returns.
   *
   * @throws IllegalStateException as {@link #afterCommit}
   */
  void afterCompletion(Consumer<Outcome> action);

  /** How a transaction ended. */
  enum Outcome {
    COMMITTED,
    /** What was written through it is undone; a further attempt may follow. */
    ROLLED_BACK,
    /**
     * The connection was lost before the answer to the commit came. If that took no effect, the
     * notification is handled again.
     */
    UNKNOWN
  }

  /** Reads the row that the result set stands on. */
  @FunctionalInterface
  interface RowMapper<R extends @Nullable Object> {
    R map(ResultSet row) throws SQLException;
  }
}
