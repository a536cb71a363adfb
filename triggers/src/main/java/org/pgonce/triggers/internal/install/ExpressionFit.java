package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Quoted;

/** Whether the SQL of a definition can be computed from the rows of its table. */
final class ExpressionFit {

  // The names lead where they do in the function. Undone with the savepoint.
  private static final String SEARCH_PATH =
      "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";

  // Planned and not run. Once more without parentheses around it: it must not close them.
  private static final String PLAN =
      """
      EXPLAIN SELECT %1$s,
      %3$s
        FROM (SELECT (NULL::%2$s).*) AS old CROSS JOIN (SELECT (NULL::%2$s).*) AS new CROSS JOIN (SELECT ''::text AS tg_op) AS event
      """;

  private static final Map<String, String> TYPED =
      Map.of(
          "condition", "(\n%s\n) IS TRUE",
          "due time", "(\n%s\n)::timestamptz",
          "payload", "to_json((\n%s\n))",
          "delivery key", "to_json((\n%s\n))",
          "order key", "to_json((\n%s\n))");

  private ExpressionFit() {}

  /** One line per expression that cannot. Changes nothing; a transaction stays usable. */
  static List<String> problems(Connection connection, Capture capture, TableName table)
      throws SQLException {
    var problems = new ArrayList<String>();
    for (var expression : capture.expressions().entrySet()) {
      var sql = TYPED.getOrDefault(expression.getKey(), "%s").formatted(expression.getValue());
      var trouble =
          trouble(connection, PLAN.formatted(sql, Quoted.table(table), expression.getValue()));
      if (trouble != null) {
        problems.add(
            "its %s cannot be computed from the rows old and new of table %s: %s; correct «%s»"
                .formatted(expression.getKey(), table, trouble, expression.getValue()));
      }
    }
    return problems;
  }

  private static @Nullable String trouble(Connection connection, String sql) throws SQLException {
    var autoCommit = connection.getAutoCommit();
    if (autoCommit) {
      connection.setAutoCommit(false);
    }
    try {
      var before = connection.setSavepoint();
      var trouble = planned(connection, sql);
      connection.rollback(before);
      connection.releaseSavepoint(before);
      return trouble;
    } finally {
      if (autoCommit) {
        connection.rollback();
        connection.setAutoCommit(true);
      }
    }
  }

  private static @Nullable String planned(Connection connection, String sql) {
    try (var statement = connection.createStatement()) {
      statement.execute(SEARCH_PATH);
      statement.execute(sql);
      return null;
    } catch (SQLException e) {
      return String.valueOf(e.getMessage()).replaceAll("\\s+", " ").strip();
    }
  }
}
