package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import org.pgonce.internal.claim.Claim;

/** The statements that end a notification's way, or send it back. */
final class SettleStatements {

  private static final String COMPLETE = "SELECT pgonce.complete(?, ?, ?)";
  private static final String RETRY = "SELECT pgonce.retry(?, ?, ?, ?, ?)";
  private static final String BURY = "SELECT pgonce.bury(?, ?, ?, ?, ?)";

  private SettleStatements() {}

  /**
   * Deletes the handled row.
   *
   * @throws SQLException with SQLState PO001 if the row is not there
   */
  static void complete(Connection transaction, Claim claim) throws SQLException {
    try (var statement = transaction.prepareStatement(COMPLETE)) {
      statement.setInt(1, claim.subscription());
      statement.setLong(2, claim.id());
      statement.setBoolean(3, claim.scheduled());
      statement.execute();
    }
  }

  /** Schedules the next attempt; false if the row is not there with the claim's attempts. */
  static boolean retry(Connection transaction, Claim claim, Duration delay, String error)
      throws SQLException {
    try (var statement = transaction.prepareStatement(RETRY)) {
      statement.setInt(1, claim.subscription());
      statement.setLong(2, claim.id());
      statement.setInt(3, claim.attempts());
      statement.setLong(4, delay.toMillis());
      statement.setString(5, error);
      return isTrue(statement);
    }
  }

  /** Makes it a dead letter; false if the row is not there with the claim's attempts. */
  static boolean bury(Connection transaction, Claim claim, DeadLetterReason reason, String error)
      throws SQLException {
    try (var statement = transaction.prepareStatement(BURY)) {
      statement.setInt(1, claim.subscription());
      statement.setLong(2, claim.id());
      statement.setInt(3, claim.attempts());
      statement.setString(4, reason.name());
      statement.setString(5, error);
      return isTrue(statement);
    }
  }

  private static boolean isTrue(PreparedStatement statement) throws SQLException {
    try (var row = statement.executeQuery()) {
      return row.next() && row.getBoolean(1);
    }
  }
}
