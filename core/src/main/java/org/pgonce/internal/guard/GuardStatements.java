package org.pgonce.internal.guard;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.pgonce.GuardKey;
import org.pgonce.GuardOptions;
import org.pgonce.GuardOutcome;
import org.pgonce.GuardState;

/** The statements of guards: calls of the functions of V008__guards.sql. */
final class GuardStatements {

  // The functions and operators are qualified: in the caller's transaction his search_path holds.
  private static final String STATE =
      """
      SELECT g.scope, g.key, g.step, g.outcome, %s, g.attempt, g.instance, g.role, g.error,
             (extract(epoch FROM g.started_at) OPERATOR(pg_catalog.*) 1000000::numeric)::bigint,
             (extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) g.started_at) OPERATOR(pg_catalog.*) 1000::numeric)::bigint
      """;
  private static final String ROW =
      STATE.formatted("g.repeatable")
          + ", g.token::text, pg_catalog.encode(g.fingerprint, 'hex'), g.settled_by, g.response FROM ";

  private static final String BEGIN =
      ROW + "pgonce.guard_begin(?, ?, ?, ?, ?, ?::uuid, ?, ?, ?, ?) AS g";
  private static final String ENTER =
      ROW + "pgonce.guard_enter(?, ?, ?, ?, ?, ?::uuid, ?, ?, ?, ?) AS g";
  private static final String FINISH =
      ROW + "pgonce.guard_finish(?, ?, ?, ?::uuid, ?, ?, ?, ?) AS g";
  private static final String PROBED = ROW + "pgonce.guard_probed(?, ?, ?, ?, ?, ?, ?, ?) AS g";
  private static final String STANDING = ROW + "pgonce.guard_standing(?, ?, ?) AS g";
  private static final String STEPS = ROW + "pgonce.sequence_steps(?, ?) AS g";
  private static final String STEP_BEGIN =
      ROW + "pgonce.step_begin(?, ?, ?, ?, ?::uuid, ?::uuid, ?, ?, ?, ?) AS g";
  private static final String STEP_DONE =
      ROW + "pgonce.step_done(?, ?, ?, ?, ?::uuid, ?, ?, ?, ?, ?) AS g";
  private static final String SETTLE = ROW + "pgonce.settle_guard(?, ?, ?, ?, ?, ?, ?, ?) AS g";
  private static final String OPEN =
      STATE.formatted("g.kind OPERATOR(pg_catalog.=) 'SEQUENCE'")
          + " FROM pgonce.guard_status AS g WHERE ?::text IS NULL OR g.scope = ? ORDER BY g.started_at LIMIT ?";
  private static final String PURGE = "SELECT pgonce.guard_purge(?)";

  private GuardStatements() {}

  /**
   * What is needed to begin an attempt.
   *
   * @param kind CALL or SEQUENCE
   */
  record Beginning(
      GuardKey key, String kind, String fingerprint, UUID token, GuardOptions options) {}

  /** In a transaction that has nothing else in it: SQLState 55P03 if the key is held too long. */
  static Optional<StoredGuard> begin(Connection transaction, Beginning what, String instance)
      throws SQLException {
    return begin(transaction, BEGIN, what, instance, GuardStore.LOCK_WAIT);
  }

  /** In somebody's transaction, which goes on; empty if the key is held too long. */
  static Optional<StoredGuard> enter(Connection transaction, Beginning what, String instance)
      throws SQLException {
    return begin(transaction, ENTER, what, instance, what.options().longestWait());
  }

  private static Optional<StoredGuard> begin(
      Connection transaction, String sql, Beginning what, String instance, Duration wait)
      throws SQLException {
    try (var statement = transaction.prepareStatement(sql)) {
      setKey(statement, what.key());
      statement.setString(4, what.kind());
      statement.setString(5, what.fingerprint());
      statement.setString(6, what.token().toString());
      statement.setString(7, instance);
      statement.setLong(8, what.options().longestCall().toMillis());
      statement.setLong(9, what.options().retention().toMillis());
      statement.setLong(10, wait.toMillis());
      return one(statement);
    }
  }

  static Optional<StoredGuard> finish(
      Connection transaction, GuardKey key, UUID token, Ending ending) throws SQLException {
    try (var statement = transaction.prepareStatement(FINISH)) {
      setKey(statement, key);
      statement.setString(4, token.toString());
      setEnding(statement, 5, ending);
      statement.setString(8, ending.error());
      return one(statement);
    }
  }

  static Optional<StoredGuard> probed(
      Connection transaction, GuardKey key, int attempt, Ending ending) throws SQLException {
    try (var statement = transaction.prepareStatement(PROBED)) {
      setKey(statement, key);
      statement.setInt(4, attempt);
      setEnding(statement, 5, ending);
      statement.setString(8, ending.error());
      return one(statement);
    }
  }

  static Optional<StoredGuard> settle(
      Connection transaction, GuardKey key, Ending ending, String who, String why)
      throws SQLException {
    try (var statement = transaction.prepareStatement(SETTLE)) {
      setKey(statement, key);
      setEnding(statement, 4, ending);
      statement.setString(7, who);
      statement.setString(8, why);
      return one(statement);
    }
  }

  static Optional<StoredGuard> standing(Connection transaction, GuardKey key) throws SQLException {
    try (var statement = transaction.prepareStatement(STANDING)) {
      setKey(statement, key);
      return one(statement);
    }
  }

  static List<StoredGuard> steps(Connection transaction, GuardKey sequence) throws SQLException {
    try (var statement = transaction.prepareStatement(STEPS)) {
      statement.setString(1, sequence.scope());
      statement.setString(2, sequence.key());
      return all(statement);
    }
  }

  /** Empty if the run has lost its sequence. */
  static Optional<StoredGuard> stepBegin(
      Connection transaction, Beginning what, UUID run, String instance) throws SQLException {
    try (var statement = transaction.prepareStatement(STEP_BEGIN)) {
      setKey(statement, what.key());
      statement.setString(4, what.fingerprint());
      statement.setString(5, run.toString());
      statement.setString(6, what.token().toString());
      statement.setString(7, instance);
      statement.setLong(8, what.options().longestCall().toMillis());
      statement.setLong(9, what.options().retention().toMillis());
      statement.setLong(10, GuardStore.LOCK_WAIT.toMillis());
      return one(statement);
    }
  }

  /** Empty if the run has lost its sequence. The token is the run's. */
  static Optional<StoredGuard> stepDone(
      Connection transaction, Beginning what, String instance, Ending ending) throws SQLException {
    try (var statement = transaction.prepareStatement(STEP_DONE)) {
      setKey(statement, what.key());
      statement.setString(4, what.fingerprint());
      statement.setString(5, what.token().toString());
      statement.setString(6, instance);
      statement.setLong(7, what.options().longestCall().toMillis());
      statement.setLong(8, what.options().retention().toMillis());
      statement.setString(9, ending.response());
      statement.setString(10, ending.error());
      return one(statement);
    }
  }

  /**
   * Those that are open, the oldest first.
   *
   * @param scope empty for all
   */
  static List<GuardState> open(Connection transaction, Optional<String> scope, int limit)
      throws SQLException {
    try (var statement = transaction.prepareStatement(OPEN)) {
      statement.setString(1, scope.orElse(null));
      statement.setString(2, scope.orElse(null));
      statement.setInt(3, limit);
      var states = new ArrayList<GuardState>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          states.add(state(row));
        }
      }
      return states;
    }
  }

  static long purge(Connection transaction, int batch) throws SQLException {
    try (var statement = transaction.prepareStatement(PURGE)) {
      statement.setInt(1, batch);
      try (var row = statement.executeQuery()) {
        row.next();
        return row.getLong(1);
      }
    }
  }

  private static void setKey(PreparedStatement statement, GuardKey key) throws SQLException {
    statement.setString(1, key.scope());
    statement.setString(2, key.key());
    statement.setString(3, key.step());
  }

  private static void setEnding(PreparedStatement statement, int from, Ending ending)
      throws SQLException {
    statement.setString(from, ending.outcome().name());
    statement.setBoolean(from + 1, ending.repeatable());
    statement.setString(from + 2, ending.response());
  }

  private static Optional<StoredGuard> one(PreparedStatement statement) throws SQLException {
    return all(statement).stream().findFirst();
  }

  private static List<StoredGuard> all(PreparedStatement statement) throws SQLException {
    var guards = new ArrayList<StoredGuard>();
    try (var row = statement.executeQuery()) {
      while (row.next()) {
        guards.add(
            new StoredGuard(
                state(row),
                row.getString(12),
                row.getString(13),
                row.getString(14),
                row.getString(15)));
      }
    }
    return guards;
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
