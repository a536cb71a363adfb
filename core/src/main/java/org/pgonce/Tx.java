package org.pgonce;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;

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
   * @param parameters set by {@link java.sql.PreparedStatement#setObject(int, Object)}
   * @return the number of rows
   */
  int update(String sql, Object... parameters) throws SQLException;

  /** Runs one query and maps each row. */
  <R> List<R> query(String sql, RowMapper<R> mapper, Object... parameters) throws SQLException;

  /**
   * Publishes within this transaction: it is stored if and only if the handler's other effects are.
   *
   * @return the notification's id
   */
  <P> long publish(Channel<P> channel, P payload) throws SQLException;

  /** Publishes within this transaction, with options, as {@link Publisher} does. */
  <P> Published publish(Channel<P> channel, P payload, PublishOptions options) throws SQLException;

  /** Reads the row that the result set stands on. */
  @FunctionalInterface
  interface RowMapper<R> {
    R map(ResultSet row) throws SQLException;
  }
}
