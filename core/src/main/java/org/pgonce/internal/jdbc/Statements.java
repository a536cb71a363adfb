package org.pgonce.internal.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Tx.RowMapper;

/** Runs statements whose parameters are texts, numbers, or null, which is bound as a text. */
public final class Statements {

  private Statements() {}

  /** Its result is passed over. */
  public static void execute(Connection connection, String sql, @Nullable Object... parameters)
      throws SQLException {
    try (var statement = connection.prepareStatement(sql)) {
      bind(statement, parameters);
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
    try (var statement = connection.prepareStatement(sql)) {
      bind(statement, parameters);
      try (var row = statement.executeQuery()) {
        var rows = new ArrayList<R>();
        while (row.next()) {
          rows.add(mapper.map(row));
        }
        return rows;
      }
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

  private static void bind(PreparedStatement statement, @Nullable Object... parameters)
      throws SQLException {
    for (var i = 0; i < parameters.length; i++) {
      var parameter = parameters[i];
      if (parameter == null) {
        statement.setString(i + 1, null);
      } else {
        statement.setObject(i + 1, parameter);
      }
    }
  }
}
