package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Tx.RowMapper;

/** Runs statements. Parameters are set by setObject; null is NULL. */
public final class Statements {

  private Statements() {}

  /** Its result is passed over. */
  public static void execute(Connection connection, String sql, @Nullable Object... parameters)
      throws SQLException {
    try (var statement = prepare(connection, sql, parameters)) {
      statement.execute();
    }
  }

  /** Returns the only row. */
  public static <R extends @Nullable Object> R row(
      Connection connection, String sql, RowMapper<R> mapper, @Nullable Object... parameters)
      throws SQLException {
    return rows(connection, sql, mapper, parameters).get(0);
  }

  public static <R extends @Nullable Object> List<R> rows(
      Connection connection, String sql, RowMapper<R> mapper, @Nullable Object... parameters)
      throws SQLException {
    try (var statement = prepare(connection, sql, parameters);
        var row = statement.executeQuery()) {
      var rows = new ArrayList<R>();
      while (row.next()) {
        rows.add(mapper.map(row));
      }
      return rows;
    }
  }

  /**
   * An array of the texts of these values, as the text that PostgreSQL reads: createArrayOf leaks
   * direct memory in pgjdbc-ng 0.8.9.
   */
  public static String array(List<?> values) {
    return values.stream()
        .map(Object::toString)
        .map(text -> '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
        .collect(Collectors.joining(",", "{", "}"));
  }

  /** With its parameters set. The caller closes it. */
  public static PreparedStatement prepare(
      Connection connection, String sql, @Nullable Object... parameters) throws SQLException {
    var statement = connection.prepareStatement(sql);
    try {
      for (var i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      return statement;
    } catch (SQLException | RuntimeException e) {
      try (statement) {
        throw e;
      }
    }
  }
}
