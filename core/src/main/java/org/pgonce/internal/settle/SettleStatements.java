package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.jdbc.Statements;

/** The statements that send a notification back, or make it a dead letter. */
final class SettleStatements {

  private static final String SCHEDULE =
      "SELECT pgonce.schedule(?, ?, ?, ?::text::uuid, ?, ?::text::uuid, ?, ?, ?) AS there";
  private static final String BURY = "SELECT pgonce.bury(?, ?, ?, ?::text::uuid, ?, ?, ?) AS there";

  private SettleStatements() {}

  /**
   * Schedules the row anew.
   *
   * @param attempts as {@link Claim} says
   * @param token of its lease; null for none
   * @param error null leaves the last one
   * @param begun why it becomes a dead letter instead, if the channel was made AT_MOST_ONCE
   *     meanwhile; null if its handler has never begun
   * @return false if it is not there as the claim has it, or became a dead letter instead
   */
  static boolean schedule(
      Connection transaction,
      Claim claim,
      int attempts,
      @Nullable String token,
      Duration delay,
      @Nullable String error,
      @Nullable DeadLetterReason begun)
      throws SQLException {
    return Statements.row(
        transaction,
        SCHEDULE,
        row -> row.getBoolean("there"),
        claim.subscription(),
        claim.id(),
        claim.attempts(),
        claim.token(),
        attempts,
        token,
        delay.toMillis(),
        error,
        begun == null ? null : begun.name());
  }

  /** Gives a leased row back, its attempt uncounted; see {@link #schedule}. */
  static boolean giveBack(Connection transaction, Claim claim, @Nullable DeadLetterReason begun)
      throws SQLException {
    return schedule(transaction, claim, claim.attempt() - 1, null, Duration.ZERO, null, begun);
  }

  /**
   * What {@link #schedule} needs where only an earlier attempt may have begun the handler. In
   * AT_LEAST_ONCE one that was given back uncounted has left nothing that a lease keeps: so each
   * may have begun, should the channel become AT_MOST_ONCE.
   */
  static @Nullable DeadLetterReason begunBefore(Claim claim, Mode mode) {
    return mode == Mode.AT_LEAST_ONCE || claim.suspect() || claim.attempt() > 1
        ? DeadLetterReason.OUTCOME_UNKNOWN
        : null;
  }

  /**
   * Makes it a dead letter; false if the row is not there with the claim's attempts.
   *
   * @param error null for the row's last one
   */
  static boolean bury(
      Connection transaction,
      Claim claim,
      int attempts,
      DeadLetterReason reason,
      @Nullable String error)
      throws SQLException {
    return Statements.row(
        transaction,
        BURY,
        row -> row.getBoolean("there"),
        claim.subscription(),
        claim.id(),
        claim.attempts(),
        claim.token(),
        attempts,
        reason.name(),
        error);
  }
}
