package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** Turns of a subscription that has a rate, which all processes share. */
public final class TurnStatements {

  private static final String TAKE =
      "SELECT t.granted, t.wait_ms FROM pgonce.take_turns(?, ?) AS t";

  private TurnStatements() {}

  /**
   * Turns that were free.
   *
   * @param granted 0 if none was
   * @param freeIn until the next one is free
   */
  public record Turns(int granted, Duration freeIn) {}

  /** Takes at most the wanted number of turns, in a transaction that should end soon. */
  public static Turns take(Connection transaction, int subscription, int wanted)
      throws SQLException {
    try (var statement = transaction.prepareStatement(TAKE)) {
      statement.setInt(1, subscription);
      statement.setInt(2, wanted);
      try (var row = statement.executeQuery()) {
        row.next();
        return new Turns(row.getInt(1), Duration.ofMillis(row.getLong(2)));
      }
    }
  }
}
