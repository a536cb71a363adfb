package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CapturedRows;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * Whether the SQL of a definition can be computed from the rows of its table: PostgreSQL looks the
 * names in a function's text up when it first runs. Here they lead where they do in the function,
 * whose path is the one that the connection is pinned to.
 */
final class ExpressionFit {

  private static final String DUE_TIME = "due time";
  private static final Map<String, String> TYPED =
      Map.of(
          "condition",
          "(\n%s\n) IS TRUE",
          DUE_TIME,
          "(\n%s\n)::timestamptz",
          "delivery key",
          "(\n%s\n)::text",
          "order key",
          "(\n%s\n)::text");
  private static final String AS_JSON = "to_json((\n%s\n))";

  // Of no row, so nothing is computed; but the rights on what is called are looked at. The
  // expression stands there once more without parentheses around it, which it must not close, and
  // where PostgreSQL takes no aggregates, window functions and sets. A column of the table's by the
  // name of tg_op is among the row's: in the function it would be taken for the trigger's.
  private static final String COMPUTED =
      """
      SELECT %1$s,
      %2$s
        FROM (SELECT %3$s OFFSET 0) AS old CROSS JOIN (SELECT %3$s OFFSET 0) AS new CROSS JOIN (SELECT ''::text AS tg_op OFFSET 0) AS pgonce_event
       WHERE (
      %2$s
      ) IS NOT NULL LIMIT 0
      """;

  private static final int LONGEST_WAIT_MS = 5000;
  private static final String NO_RIGHT = "42501";
  private static final String AMBIGUOUS = "42702";

  private final Connection connection;
  private final WatchedTable table;
  private final @Nullable String role;

  private ExpressionFit(Connection connection, WatchedTable table, @Nullable String role) {
    this.connection = connection;
    this.table = table;
    this.role = role;
  }

  /**
   * One line per expression that cannot. Changes nothing; a transaction stays usable.
   *
   * @param role with whose rights it will run; null where the connection cannot act as that, as a
   *     listener, and so cannot tell which rights that has: what it lacks itself is no problem then
   */
  static List<String> problems(
      Connection connection, Capture capture, WatchedTable table, @Nullable String role)
      throws SQLException {
    var fit = new ExpressionFit(connection, table, role);
    var problems = new ArrayList<String>();
    for (var expression : capture.expressions().entrySet()) {
      var problem = fit.problem(expression.getKey(), expression.getValue());
      if (problem != null) {
        problems.add(problem);
      }
    }
    return problems;
  }

  private @Nullable String problem(String what, String sql) throws SQLException {
    var named = CapturedRows.columnsIn(sql);
    for (var column : table.columns()) {
      if (column.virtual() && named != null && named.contains(column.name())) {
        return "its %s reads column %s of table %s, which is generated when it is read and not seen by triggers: make it STORED, or correct «%s»"
            .formatted(what, column.name(), table.name(), sql);
      }
    }
    var row =
        table.seenColumns().stream()
            .filter(
                column ->
                    named == null || named.contains(column.name()) || column.name().equals("tg_op"))
            .map(
                column ->
                    "NULL::%s AS %s"
                        .formatted(column.type().name(), Quoted.identifier(column.name())))
            .collect(Collectors.joining(", "));
    var typed = TYPED.getOrDefault(what, AS_JSON).formatted(sql);
    String type;
    try {
      type = typeOf(COMPUTED.formatted(typed, sql, row));
    } catch (SQLException e) {
      var trouble = trouble(e);
      return trouble == null
          ? null
          : "its %s cannot be computed from the rows old and new of table %s: %s; correct «%s»"
              .formatted(what, table.name(), trouble, sql);
    }
    return what.equals(DUE_TIME) && (type.equals("timestamp") || type.equals("date"))
        ? "its due time has no time zone, and would be taken for UTC, in which expressions run, and not for the time of who wrote the row: give (%s)::timestamp AT TIME ZONE 'UTC', or the zone whose time table %s holds"
            .formatted(sql, table.name())
        : null;
  }

  /** The type of the second column, or the type that its domain is over. */
  private String typeOf(String query) throws SQLException {
    return RollbackScope.during(
        connection,
        () -> {
          if (role != null) {
            OwnerRole.set(connection, role);
          }
          // To plan a query locks the tables that it reads.
          LockSettings.bound(connection, LONGEST_WAIT_MS, 2 * LONGEST_WAIT_MS);
          try (var statement = connection.createStatement();
              var rows = statement.executeQuery(query)) {
            return rows.getMetaData().getColumnTypeName(2);
          }
        });
  }

  private @Nullable String trouble(SQLException e) {
    // What follows says where in this query it was.
    var message = String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
    if (LockSettings.isLockTimeout(e)) {
      return "a table that it reads was locked for longer than %d s, so nobody knows; try again when that has ended"
          .formatted(LONGEST_WAIT_MS / 1000);
    }
    if (AMBIGUOUS.equals(e.getSQLState())) {
      return message
          + " (write new. or old. before a column of the rows; tg_op is what happened only where the table has no column of that name)";
    }
    if (!NO_RIGHT.equals(e.getSQLState())) {
      return message;
    }
    return role == null
        ? null
        : "%s for role %s, with whose rights it runs: GRANT it that one".formatted(message, role);
  }
}
