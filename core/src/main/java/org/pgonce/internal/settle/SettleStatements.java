package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;

/** The statements that end a notification's way, or send it back. */
final class SettleStatements {

  // Whether another row lies behind it, held by someone or not, is a sign that somebody has
  // something to do: so no claim is needed to find out that nothing is left.
  private static final String COMPLETE_NEW =
      """
      DELETE FROM pgonce.notification AS n
       WHERE n.subscription_id OPERATOR(pg_catalog.=) ? AND n.id OPERATOR(pg_catalog.=) ?
      RETURNING (SELECT b.id FROM pgonce.notification AS b
                  WHERE b.subscription_id OPERATOR(pg_catalog.=) n.subscription_id AND b.id OPERATOR(pg_catalog.>) n.id
                  ORDER BY b.id LIMIT 1) IS NOT NULL
      """;
  private static final String COMPLETE_DUE =
      """
      DELETE FROM pgonce.scheduled AS s
       WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ?
      RETURNING false
      """;
  private static final String COMPLETE_LEASED =
      """
      DELETE FROM pgonce.scheduled AS s
       WHERE s.subscription_id OPERATOR(pg_catalog.=) ? AND s.id OPERATOR(pg_catalog.=) ?
         AND s.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid
      RETURNING (SELECT b.id FROM pgonce.notification AS b
                  WHERE b.subscription_id OPERATOR(pg_catalog.=) s.subscription_id
                  ORDER BY b.id LIMIT 1) IS NOT NULL
      """;
  private static final String NOT_THERE = "PO001";
  private static final String SCHEDULE =
      "SELECT pgonce.schedule(?, ?, ?, ?::text::uuid, ?, ?::text::uuid, ?, ?)";
  private static final String BURY = "SELECT pgonce.bury(?, ?, ?, ?::text::uuid, ?, ?, ?)";

  private SettleStatements() {}

  /**
   * Deletes the handled row, in the transaction of its handler. A leased one must still have its
   * token.
   *
   * @return whether another new row lies behind it
   * @throws SQLException with SQLState PO001 if the row is not there: never taken for success
   */
  static boolean complete(Connection transaction, Claim claim) throws SQLException {
    try (var statement = transaction.prepareStatement(completion(claim))) {
      statement.setInt(1, claim.subscription());
      statement.setLong(2, claim.id());
      if (claim.token() != null) {
        statement.setString(3, claim.token());
      }
      try (var row = statement.executeQuery()) {
        if (!row.next()) {
          throw new SQLException(
              claim
                  + (claim.token() == null
                      ? " is no longer there: it was deleted while it was claimed, and its handler is"
                          + " undone"
                      : " is no longer leased to this process: its lease was over before its handler"
                          + " returned, and what that wrote through its transaction is undone"),
              NOT_THERE);
        }
        return row.getBoolean(1);
      }
    }
  }

  private static String completion(Claim claim) {
    if (claim.token() != null) {
      return COMPLETE_LEASED;
    }
    return claim.scheduled() ? COMPLETE_DUE : COMPLETE_NEW;
  }

  /** Schedules the next attempt; false if the row is not there as the claim had it. */
  static boolean retry(Connection transaction, Claim claim, Duration delay, String error)
      throws SQLException {
    return schedule(transaction, claim, claim.attempt(), null, delay, error);
  }

  /**
   * Counts the next attempt before it begins; false if the row is not there as the claim has it.
   */
  static boolean countAhead(
      Connection transaction, Claim claim, String token, Duration delay, String error)
      throws SQLException {
    return schedule(transaction, claim, claim.attempts() + 1, token, delay, error);
  }

  /** Gives a leased row back, its attempt uncounted; false if it is not leased any more. */
  static boolean giveBack(Connection transaction, Claim claim) throws SQLException {
    return schedule(transaction, claim, claim.attempts() - 1, null, Duration.ZERO, null);
  }

  private static boolean schedule(
      Connection transaction,
      Claim claim,
      int attempts,
      @Nullable String token,
      Duration delay,
      @Nullable String error)
      throws SQLException {
    try (var statement = transaction.prepareStatement(SCHEDULE)) {
      setRow(statement, claim);
      statement.setInt(5, attempts);
      statement.setString(6, token);
      statement.setLong(7, delay.toMillis());
      statement.setString(8, error);
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
