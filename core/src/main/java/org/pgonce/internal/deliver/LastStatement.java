package org.pgonce.internal.deliver;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** A statement that follows a handler's work, in the same message where that is possible. */
public interface LastStatement<R> {

  String sql();

  void bind(PreparedStatement statement) throws SQLException;

  /**
   * Reads what it has returned.
   *
   * @param row before the first one
   */
  R read(ResultSet row) throws SQLException;

  /** Executes it by itself. */
  default R on(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(sql())) {
      bind(statement);
      try (var row = statement.executeQuery()) {
        return read(row);
      }
    }
  }
}
