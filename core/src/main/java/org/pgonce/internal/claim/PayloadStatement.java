package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;

/** Reads a claimed payload in parts, where one message cannot carry it. */
final class PayloadStatement {

  private static final String PART = "SELECT pgonce.payload_part(?, ?, ?, ?, ?)";

  // At most 4 bytes each: below the 20 MiB that pgjdbc-ng takes.
  private static final int CHARACTERS = 4_000_000;

  private PayloadStatement() {}

  static String read(Connection transaction, int subscription, long id, boolean scheduled)
      throws SQLException {
    var payload = new StringBuilder();
    try (var statement = transaction.prepareStatement(PART)) {
      statement.setInt(1, subscription);
      statement.setLong(2, id);
      statement.setBoolean(3, scheduled);
      statement.setInt(5, CHARACTERS);
      for (var first = 1; ; first += CHARACTERS) {
        statement.setInt(4, first);
        try (var row = statement.executeQuery()) {
          row.next();
          var part = row.getString(1);
          payload.append(part);
          if (part.codePointCount(0, part.length()) < CHARACTERS) {
            return payload.toString();
          }
        }
      }
    }
  }
}
