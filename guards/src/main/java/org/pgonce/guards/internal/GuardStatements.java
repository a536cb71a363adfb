package org.pgonce.guards.internal;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.guards.GuardKey;
import org.pgonce.guards.GuardOptions;
import org.pgonce.guards.GuardOutcome;
import org.pgonce.guards.GuardState;

/** The statements of guards: calls of the functions of sql/guards/install.sql. */
final class GuardStatements {

  // What no statement of ours exceeds, unless another transaction holds the same key for long.
  private static final Duration LOCK_WAIT = Duration.ofSeconds(10);

  // The functions and operators are qualified: in the caller's transaction its search_path holds.
  private static final String STATE =
      """
      SELECT g.scope, g.key, g.step, g.outcome, g.repeatable, g.attempt, g.instance, g.role, g.error,
             (extract(epoch FROM g.started_at) OPERATOR(pg_catalog.*) 1000000::numeric)::bigint,
             (extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) g.started_at) OPERATOR(pg_catalog.*) 1000::numeric)::bigint
      """;
  private static final String ROW =
      STATE
          + ", g.token::pg_catalog.text, pg_catalog.encode(g.fingerprint, 'hex'), g.settled_by, g.response FROM ";

  private static final String BEGIN =
      ROW + "pgonce_guards.guard_begin(?, ?, ?, ?, ?, ?::pg_catalog.uuid, ?, ?, ?, ?) AS g";
  private static final String ENTER =
      ROW + "pgonce_guards.guard_enter(?, ?, ?, ?, ?, ?::pg_catalog.uuid, ?, ?, ?, ?) AS g";
  private static final String FINISH =
      ROW + "pgonce_guards.guard_finish(?, ?, ?, ?::pg_catalog.uuid, ?, ?, ?, ?) AS g";
  private static final String PROBED =
      ROW + "pgonce_guards.guard_probed(?, ?, ?, ?, ?, ?, ?, ?) AS g";
  private static final String STANDING = ROW + "pgonce_guards.guard_standing(?, ?, ?) AS g";
  private static final String STEPS = ROW + "pgonce_guards.sequence_steps(?, ?) AS g";
  private static final String STEP_BEGIN =
      ROW
          + "pgonce_guards.step_begin(?::pg_catalog.uuid, ?, ?, ?, ?, ?, ?::pg_catalog.uuid, ?, ?, ?, ?) AS g";
  private static final String STEP_DONE =
      ROW + "pgonce_guards.step_done(?, ?, ?, ?, ?::pg_catalog.uuid, ?, ?, ?, ?, ?) AS g";
  private static final String SETTLE =
      ROW + "pgonce_guards.settle_guard(?, ?, ?, ?, ?, ?, ?, ?) AS g";
  // The view shows calls that have failed for good as well.
  private static final String OPEN =
      STATE
          + """
             FROM pgonce_guards.guard_status AS g
            WHERE (?::pg_catalog.text IS NULL OR g.scope OPERATOR(pg_catalog.=) ?)
              AND NOT (g.kind OPERATOR(pg_catalog.=) 'CALL' AND g.outcome OPERATOR(pg_catalog.=) 'FAILED')
            ORDER BY g.started_at LIMIT ?
            """;
  private static final String PURGE = "SELECT pgonce_guards.guard_purge(?)";

  private static final String NOT_INSTALLED =
      "Guards are not installed in this database, or an older version is: call Guards.install(), or run what Guards.migration() prints";

  // By SQLState: no right; no such schema, table or function.
  private static final Map<String, String> ADVICE =
      Map.of(
          "42501",
          "The connection's role has to be a member of pgonce_guard or pgonce_listener (GRANT pgonce_guard TO that role), and to settle or release of pgonce_admin",
          "3F000",
          NOT_INSTALLED,
          "42P01",
          NOT_INSTALLED,
          "42883",
          NOT_INSTALLED);

  private GuardStatements() {}

  /** In a transaction that has nothing else in it: SQLState 55P03 if the key is held too long. */
  static Optional<StoredGuard> begin(Connection transaction, Attempt attempt, String instance)
      throws SQLException {
    return one(transaction, BEGIN, attempt, instance, attempt.options(), LOCK_WAIT);
  }

  /** In the caller's transaction, which goes on; empty if the key is held too long. */
  static Optional<StoredGuard> enter(Connection transaction, Attempt attempt, String instance)
      throws SQLException {
    var options = attempt.options();
    return one(transaction, ENTER, attempt, instance, options, options.longestWait());
  }

  /** As {@link #begin}; empty also if the run has lost its sequence. */
  static Optional<StoredGuard> stepBegin(
      Connection transaction, Attempt step, Attempt run, String instance) throws SQLException {
    return one(transaction, STEP_BEGIN, run.token(), step, instance, step.options(), LOCK_WAIT);
  }

  /** Keeps the result of a repeatable step; empty if the run has lost its sequence. */
  static Optional<StoredGuard> stepDone(
      Connection transaction, GuardKey step, Attempt run, String instance, CallOutcome outcome)
      throws SQLException {
    return one(
        transaction,
        STEP_DONE,
        step,
        run.fingerprint(),
        run.token(),
        instance,
        run.options(),
        outcome.response(),
        outcome.error());
  }

  static List<StoredGuard> steps(Connection transaction, GuardKey sequence) throws SQLException {
    return all(transaction, STEPS, GuardStatements::guard, sequence.scope(), sequence.key());
  }

  static Optional<StoredGuard> finish(Connection transaction, Attempt attempt, CallOutcome outcome)
      throws SQLException {
    return one(transaction, FINISH, attempt.key(), attempt.token(), outcome, outcome.error());
  }

  /**
   * @param attempt the number of the one that was probed
   */
  static Optional<StoredGuard> probed(
      Connection transaction, GuardKey key, int attempt, CallOutcome outcome) throws SQLException {
    return one(transaction, PROBED, key, attempt, outcome, outcome.error());
  }

  static Optional<StoredGuard> settle(
      Connection transaction, GuardKey key, CallOutcome outcome, String who, String why)
      throws SQLException {
    return one(transaction, SETTLE, key, outcome, who, why);
  }

  static Optional<StoredGuard> standing(Connection transaction, GuardKey key) throws SQLException {
    return one(transaction, STANDING, key);
  }

  /**
   * Those that are open, the oldest first.
   *
   * @param scope null for all
   */
  static List<GuardState> open(Connection transaction, @Nullable String scope, int limit)
      throws SQLException {
    return all(transaction, OPEN, GuardStatements::state, scope, scope, limit);
  }

  static long purge(Connection transaction, int batch) throws SQLException {
    return all(transaction, PURGE, row -> row.getLong(1), batch).get(0);
  }

  private interface RowReader<T> {
    T read(ResultSet row) throws SQLException;
  }

  private static Optional<StoredGuard> one(
      Connection transaction, String sql, @Nullable Object... parameters) throws SQLException {
    return all(transaction, sql, GuardStatements::guard, parameters).stream().findFirst();
  }

  private static <T> List<T> all(
      Connection transaction, String sql, RowReader<T> reader, @Nullable Object... parameters)
      throws SQLException {
    var values = new ArrayList<@Nullable Object>();
    for (var parameter : parameters) {
      add(parameter, values);
    }
    try (var statement = transaction.prepareStatement(sql)) {
      for (var i = 0; i < values.size(); i++) {
        statement.setObject(i + 1, values.get(i));
      }
      var found = new ArrayList<T>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          found.add(reader.read(row));
        }
      }
      return found;
    } catch (SQLException e) {
      throw explained(e);
    }
  }

  /** PostgreSQL says what is missing, and not how to come by it. In one line, for a log. */
  private static SQLException explained(SQLException refused) {
    var state = refused.getSQLState();
    if (state == null || !ADVICE.containsKey(state)) {
      return refused;
    }
    var message = String.valueOf(refused.getMessage()).lines().findFirst().orElse("");
    return new SQLException(message + ". " + ADVICE.get(state), state, refused);
  }

  /** The values of a parameter, in the order in which the functions take them. */
  private static void add(@Nullable Object parameter, List<@Nullable Object> values) {
    if (parameter instanceof GuardKey key) {
      values.addAll(List.of(key.scope(), key.key(), key.step()));
    } else if (parameter instanceof Attempt attempt) {
      add(attempt.key(), values);
      values.addAll(List.of(attempt.kind(), attempt.fingerprint(), attempt.token().toString()));
    } else if (parameter instanceof GuardOptions options) {
      values.addAll(List.of(options.longestCall().toMillis(), options.retention().toMillis()));
    } else if (parameter instanceof CallOutcome outcome) {
      values.addAll(List.of(outcome.outcome().name(), outcome.repeatable()));
      values.add(outcome.response());
    } else if (parameter instanceof Duration duration) {
      values.add(duration.toMillis());
    } else {
      values.add(parameter instanceof UUID token ? token.toString() : parameter);
    }
  }

  private static StoredGuard guard(ResultSet row) throws SQLException {
    return new StoredGuard(
        state(row), row.getString(12), row.getString(13), row.getString(14), row.getString(15));
  }

  private static GuardState state(ResultSet row) throws SQLException {
    return new GuardState(
        new GuardKey(row.getString(1), row.getString(2), row.getString(3)),
        GuardOutcome.valueOf(row.getString(4)),
        row.getBoolean(5),
        row.getInt(6),
        Instant.EPOCH.plus(row.getLong(10), ChronoUnit.MICROS),
        Duration.ofMillis(row.getLong(11)),
        row.getString(7),
        row.getString(8),
        row.getString(9));
  }
}
