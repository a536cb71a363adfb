package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;

/** The statements that end a notification's way, or send it back. */
final class SettleStatements {

  private static final String KEY_DONE = "SELECT pgonce.key_done(?, ?, ?)";
  private static final String SCHEDULE =
      "SELECT pgonce.schedule(?, ?, ?, ?::text::uuid, ?, ?::text::uuid, ?, ?, ?)";
  private static final String BURY = "SELECT pgonce.bury(?, ?, ?, ?::text::uuid, ?, ?, ?)";

  private SettleStatements() {}

  /** What was deleted is done with the delivery keys that its publishers gave. */
  static void keysDone(Connection transaction, List<Claim> claims) throws SQLException {
    for (var claim : claims) {
      var key = claim.headers().deliveryKey();
      if (key != null) {
        keyDone(transaction, claim, key);
      }
    }
  }

  /** After the row: whoever holds that may wait for the key, and nobody the other way round. */
  private static void keyDone(Connection transaction, Claim claim, String key) throws SQLException {
    try (var statement = transaction.prepareStatement(KEY_DONE)) {
      statement.setInt(1, claim.subscription());
      statement.setLong(2, claim.id());
      statement.setString(3, key);
      statement.execute();
    }
  }

  // In what follows, a row whose handler has begun is a dead letter instead, and the answer false,
  // if the channel was made AT_MOST_ONCE meanwhile.

  /** Schedules the next attempt; false if the row is not there as the claim had it. */
  static boolean retry(Connection transaction, Claim claim, Duration delay, String error)
      throws SQLException {
    return schedule(
        transaction, claim, claim.attempt(), null, delay, error, DeadLetterReason.ATTEMPTS_USED_UP);
  }

  /**
   * Counts the next attempt before it begins; false if the row is not there as the claim has it.
   */
  static boolean countAhead(
      Connection transaction, Claim claim, String token, Duration delay, String error)
      throws SQLException {
    return schedule(
        transaction,
        claim,
        claim.attempts() + 1,
        token,
        delay,
        error,
        DeadLetterReason.OUTCOME_UNKNOWN);
  }

  /**
   * Has a suspect wait for its turn, uncounted; it stays suspect. False if the row is not there as
   * the claim has it.
   */
  static boolean postpone(Connection transaction, Claim claim, String token, Duration turn)
      throws SQLException {
    return schedule(
        transaction, claim, claim.attempts(), token, turn, null, DeadLetterReason.OUTCOME_UNKNOWN);
  }

  /**
   * Gives a leased row back whose handler has not begun, its attempt uncounted; false if it is not
   * leased any more.
   */
  static boolean giveBack(Connection transaction, Claim claim) throws SQLException {
    return giveBack(transaction, claim, begunBefore(claim));
  }

  /**
   * The same where its handler has begun.
   *
   * @param begun what it is a dead letter for where it may not run again
   */
  static boolean giveBack(Connection transaction, Claim claim, @Nullable DeadLetterReason begun)
      throws SQLException {
    return schedule(transaction, claim, claim.attempts() - 1, null, Duration.ZERO, null, begun);
  }

  private static @Nullable DeadLetterReason begunBefore(Claim claim) {
    return claim.suspect() || claim.attempt() > 1 ? DeadLetterReason.OUTCOME_UNKNOWN : null;
  }

  /** Has it wait for other listeners, its attempt uncounted; false as for a retry. */
  static boolean putBack(Connection transaction, Claim claim, Duration delay, String why)
      throws SQLException {
    return schedule(transaction, claim, claim.attempt() - 1, null, delay, why, begunBefore(claim));
  }

  private static boolean schedule(
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
