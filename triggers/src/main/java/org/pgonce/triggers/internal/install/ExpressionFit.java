package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.pgonce.PgOnceException;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * Whether the SQL of a definition can be computed from the rows of its table. Its names lead where
 * they do in the function, whose path is the one that the connection is pinned to.
 */
final class ExpressionFit {

  private static final String DUE_TIME = "due time";

  private static final String ROWS =
      "(SELECT ($1).*) AS old CROSS JOIN (SELECT ($2).*) AS new CROSS JOIN (SELECT ''::text AS tg_op) AS event";

  // Planned and not run. Once more without parentheses around it: it must not close them. And where
  // PostgreSQL takes no aggregates, window functions and sets: each row has one value.
  private static final String PLAN =
      "EXPLAIN SELECT %1$s,\n%2$s\n  FROM " + ROWS + "\n WHERE (\n%2$s\n) IS NOT NULL";

  // Its type, of no row: it is not run either. Of a domain, what that is of.
  private static final String WITHOUT_ZONE =
      """
      SELECT coalesce(nullif(t.typbasetype, 0), t.oid) IN ('pg_catalog.timestamp'::regtype, 'pg_catalog.date'::regtype)
        FROM (SELECT pg_catalog.pg_typeof(due.value) AS type
                FROM (SELECT) AS one LEFT JOIN (SELECT (
      %s
      ) AS value FROM %s WHERE false) AS due ON true) AS due JOIN pg_catalog.pg_type t ON t.oid = due.type
      """;

  // As in the function, the rows come without the name of their table, whose schema its owner may
  // have no right to use: declared as who looks, computed as who will run it.
  private static final String AS_IN_A_FUNCTION =
      """
      DECLARE
        old %1$s;
        new %1$s;
        without_zone boolean := false;
      BEGIN
        %2$sEXECUTE %3$s%4$s USING old, new;
        IF without_zone THEN
          RAISE EXCEPTION USING ERRCODE = '%5$s', MESSAGE = 'without zone';
        END IF;
      END""";

  private static final String ACT = "PERFORM pg_catalog.set_config('role', %s, true);\n  ";

  private static final String NO_ZONE = "PO0ZZ";
  private static final String NO_RIGHT = "42501";

  // Of somebody who changes the table: to look takes the weakest lock.
  private static final int LONGEST_WAIT_MS = 5000;

  private static final Map<String, String> TYPED =
      Map.of(
          "condition",
          "(\n%s\n) IS TRUE",
          DUE_TIME,
          "(\n%s\n)::timestamptz",
          "payload",
          "to_json((\n%s\n))",
          "delivery key",
          "to_json((\n%s\n))",
          "order key",
          "to_json((\n%s\n))");

  private final Connection connection;
  private final TableName table;
  private final boolean asOwner;

  private ExpressionFit(Connection connection, TableName table, boolean asOwner) {
    this.connection = connection;
    this.table = table;
    this.asOwner = asOwner;
  }

  /**
   * One line per expression that cannot. Changes nothing; a transaction stays usable. Who may not
   * act as the functions' owner, as a listener, cannot tell which rights that has: what it lacks
   * itself is no problem then.
   *
   * @throws PgOnceException if somebody who changes the table keeps it locked for too long
   */
  static List<String> problems(Connection connection, Capture capture, WatchedTable table)
      throws SQLException {
    if (capture.expressions().isEmpty()) {
      return List.of();
    }
    var fit = new ExpressionFit(connection, table.name(), OwnerRole.isAllowed(connection));
    return Undone.during(
        connection,
        () -> {
          var before = connection.setSavepoint();
          LockSettings.boundWaits(connection, LONGEST_WAIT_MS);
          try {
            return fit.problems(capture);
          } catch (SQLException e) {
            if (!LockSettings.isLockTimeout(e)) {
              throw e;
            }
            connection.rollback(before);
            throw new PgOnceException(
                "pgonce cannot look whether the SQL of channel %s goes with table %s, which is locked for longer than lock_timeout or %d s. In the way: %s. Try again when that has ended"
                    .formatted(
                        capture.channel(),
                        table.name(),
                        LONGEST_WAIT_MS / 1000,
                        Blockers.inWords(connection, table.oid(), Blockers.OF_READERS)),
                e);
          }
        });
  }

  private List<String> problems(Capture capture) throws SQLException {
    var problems = new ArrayList<String>();
    for (var expression : capture.expressions().entrySet()) {
      var sql = TYPED.getOrDefault(expression.getKey(), "%s").formatted(expression.getValue());
      // First: to plan what calls a function can run it.
      var foreign = CalledFunctions.problems(connection, table, expression.getKey(), sql, asOwner);
      if (!foreign.isEmpty()) {
        problems.addAll(foreign);
        continue;
      }
      var trouble = trouble(PLAN.formatted(sql, expression.getValue()), "");
      if (trouble.isPresent()) {
        problems.add(
            "its %s cannot be computed from the rows old and new of table %s: %s; correct «%s»"
                .formatted(expression.getKey(), table, trouble.get(), expression.getValue()));
      } else if (expression.getKey().equals(DUE_TIME)
          && trouble(WITHOUT_ZONE.formatted(expression.getValue(), ROWS), " INTO without_zone")
              .isPresent()) {
        problems.add(
            "its due time has no time zone, and would be taken for UTC, in which expressions run, and not for the time of who wrote the row: give (%s)::timestamp AT TIME ZONE 'UTC', or the zone whose time table %s holds"
                .formatted(expression.getValue(), table));
      }
    }
    return problems;
  }

  private Optional<String> trouble(String query, String into) throws SQLException {
    var block =
        AS_IN_A_FUNCTION.formatted(
            Quoted.table(table),
            asOwner ? ACT.formatted(Quoted.literal(FunctionDrift.OWNER)) : "",
            Quoted.literal(query),
            into,
            NO_ZONE);
    return Undone.during(
        connection,
        () -> {
          try (var statement = connection.createStatement()) {
            statement.execute("DO " + Quoted.literal(block));
            return Optional.<String>empty();
          } catch (SQLException e) {
            if (LockSettings.isLockTimeout(e)) {
              throw e;
            }
            return told(e);
          }
        });
  }

  private Optional<String> told(SQLException e) {
    // What follows says where in this block it was.
    var message = String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
    if (!NO_RIGHT.equals(e.getSQLState())) {
      return Optional.of(message);
    }
    return asOwner
        ? Optional.of(
            "%s for role %s, with whose rights it runs: GRANT it that one"
                .formatted(message, FunctionDrift.OWNER))
        : Optional.empty();
  }
}
