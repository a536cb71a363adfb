package org.pgonce.internal.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/** What stands behind a {@link LastStatement} in its message: nothing, or its commit and more. */
public interface Following {

  Following NOTHING = () -> "";
  Following COMMIT = () -> "COMMIT";

  /** Commands, of which the first one commits; a constant. Empty: there are none. */
  String sql();

  /**
   * Sets their parameters.
   *
   * @param first the index of the first one
   */
  default void bind(PreparedStatement statement, int first) throws SQLException {}

  /**
   * All is done: reads what they have returned.
   *
   * @param executed at the result of the last statement
   */
  default void read(Statement executed) throws SQLException {}

  /** Whether they were done, and have left a transaction open that they have begun. */
  default boolean hasBegun() {
    return false;
  }

  /** The transaction behind the commit is rolled back. */
  default void undone() {}
}
