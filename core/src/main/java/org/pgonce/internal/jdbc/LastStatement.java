package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * A statement that follows a handler's work, in the same message where that is possible, and may
 * have the commit behind it there: so it fails by itself where that work must not be committed.
 */
public interface LastStatement<R> {

  String sql();

  /** How many parameters it has. */
  int parameters();

  /**
   * Sets them.
   *
   * @param first the index of the first one
   */
  void bind(PreparedStatement statement, int first) throws SQLException;

  /**
   * Reads what it has returned.
   *
   * @param row before the first one
   */
  R read(ResultSet row) throws SQLException;

  /** What is to be told of its failure. */
  default SQLException explained(SQLException failure) {
    return failure;
  }

  /** Executes it by itself. */
  default R on(Connection transaction) throws SQLException {
    try {
      return among("", Following.NOTHING, transaction);
    } catch (SQLException e) {
      throw explained(e);
    }
  }

  /**
   * Executes it behind a command that returns something, and commits, if the driver can send that
   * in one message: else the caller's commit follows, which sends nothing if that is done.
   */
  default R commitAfter(String command, Connection transaction) throws SQLException {
    if (!Pipeline.endsAtAnError(transaction)) {
      try (var statement = transaction.createStatement()) {
        statement.execute(command);
      }
      return on(transaction);
    }
    try {
      return among(command, Following.COMMIT, transaction);
    } catch (SQLException e) {
      throw explained(e);
    }
  }

  /**
   * Executes it among others, in one message. Not for pgjdbc-ng, which prepares one command at a
   * time.
   *
   * @param before a command whose result is passed over; empty: none
   */
  default R among(String before, Following behind, Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(Pipeline.of(before, sql(), behind.sql()))) {
      bind(statement, 1);
      behind.bind(statement, parameters() + 1);
      statement.execute();
      if (!before.isEmpty()) {
        statement.getMoreResults();
      }
      return read(statement, behind);
    }
  }

  /** Reads what it has returned, and then what those behind it have. */
  default R read(Statement executed, Following behind) throws SQLException {
    R result;
    try (var row = executed.getResultSet()) {
      result = read(row);
    }
    behind.read(executed);
    return result;
  }
}
