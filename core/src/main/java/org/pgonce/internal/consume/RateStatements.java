package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** Permits of a subscription that has a rate, which all processes share. */
final class RateStatements {

  private static final String TAKE =
      "SELECT t.granted, t.wait_ms FROM pgonce.take_permits(?, ?) AS t";

  private RateStatements() {}

  /**
   * Permits that were free.
   *
   * @param granted 0 if none was
   * @param freeIn until the next one is free
   */
  record Permits(int granted, Duration freeIn) {}

  /** Takes at most the wanted number of permits, in a transaction that should end soon. */
  static Permits take(Connection transaction, int subscription, int wanted) throws SQLException {
    try (var statement = transaction.prepareStatement(TAKE)) {
      statement.setInt(1, subscription);
      statement.setInt(2, wanted);
      try (var row = statement.executeQuery()) {
        row.next();
        return new Permits(row.getInt(1), Duration.ofMillis(row.getLong(2)));
      }
    }
  }
}
