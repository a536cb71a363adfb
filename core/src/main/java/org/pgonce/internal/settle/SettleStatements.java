package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;

/** The statements that send a notification back, or make it a dead letter. */
final class SettleStatements {

  private static final String KEY_DONE = "SELECT pgonce.key_done(?, ?, ?)";
  private static final String SCHEDULE =
      "SELECT pgonce.schedule(?, ?, ?, ?::text::uuid, ?, ?::text::uuid, ?, ?, ?)";
  private static final String BURY = "SELECT pgonce.bury(?, ?, ?, ?::text::uuid, ?, ?, ?)";

  private SettleStatements() {}

  /**
   * The deleted notifications are done with their delivery keys. After the rows are deleted, in
   * this order: a session that holds a row may wait for its key, and none the other way round.
   */
  static void keysDone(Connection transaction, List<Claim> claims) throws SQLException {
    for (var claim : claims) {
      var key = claim.headers().deliveryKey();
      if (key != null) {
        try (var statement = transaction.prepareStatement(KEY_DONE)) {
          statement.setInt(1, claim.subscription());
          statement.setLong(2, claim.id());
          statement.setString(3, key);
          statement.execute();
        }
      }
    }
  }

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
    try (var statement = transaction.prepareStatement(SCHEDULE)) {
      setRow(statement, claim);
      statement.setInt(5, attempts);
      statement.setString(6, token);
      statement.setLong(7, delay.toMillis());
      statement.setString(8, error);
      statement.setString(9, begun == null ? null : begun.name());
      return isTrue(statement);
    }
  }

  /** Gives a leased row back, its attempt uncounted; see {@link #schedule}. */
  static boolean giveBack(Connection transaction, Claim claim, @Nullable DeadLetterReason begun)
      throws SQLException {
    return schedule(transaction, claim, claim.attempt() - 1, null, Duration.ZERO, null, begun);
  }

  /** What {@link #schedule} needs where only an earlier attempt may have begun the handler. */
  static @Nullable DeadLetterReason begunBefore(Claim claim) {
    return claim.suspect() || claim.attempt() > 1 ? DeadLetterReason.OUTCOME_UNKNOWN : null;
  }

  /** Makes it a dead letter; false if the row is not there with the claim's attempts. */
  static boolean bury(
      Connection transaction, Claim claim, int attempts, DeadLetterReason reason, String error)
      throws SQLException {
    try (var statement = transaction.prepareStatement(BURY)) {
      setRow(statement, claim);
      statement.setInt(5, attempts);
      statement.setString(6, reason.name());
      statement.setString(7, error);
      return isTrue(statement);
    }
  }

  private static void setRow(PreparedStatement statement, Claim claim) throws SQLException {
    statement.setInt(1, claim.subscription());
    statement.setLong(2, claim.id());
    statement.setInt(3, claim.attempts());
    statement.setString(4, claim.token());
  }

  private static boolean isTrue(PreparedStatement statement) throws SQLException {
    try (var row = statement.executeQuery()) {
      return row.next() && row.getBoolean(1);
    }
  }
}
