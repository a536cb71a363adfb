package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.Transactions;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * What a claimed notification carries. A short one comes with the claim. A longer one is fetched by
 * its attempt, in parts: what it then takes (memory above all) fails that attempt, and is counted.
 */
public sealed interface Payload {

  /**
   * Bytes, as the database encodes them, that come with the claim. A byte can become three on the
   * wire, where the database is not UTF-8, and pgjdbc-ng gives up its connection at 20 MiB.
   */
  int SHORT = 4 * 1024 * 1024;

  /** Bytes, as the database encodes them, that are fetched at all. */
  int LONGEST = 100 * 1024 * 1024;

  /**
   * The JSON text. Call it on the claim's thread, before its handler has the connection.
   *
   * @throws UnreadablePayloadException if it is longer than {@link #LONGEST}
   */
  String text() throws SQLException, UnreadablePayloadException;

  /** Fetched with the claim. */
  record Fetched(String text) implements Payload {

    /** Payloads stay out of messages. */
    @Override
    public String toString() {
      return "payload of " + text.length() + " characters";
    }
  }

  /**
   * Still in the row that the claim holds.
   *
   * @param bytes its length, as the database encodes it
   */
  record Stored(Reading reading, int subscription, long id, boolean scheduled, int bytes)
      implements Payload {

    /** In which transaction it is read: the claim's, or another where the claim has none. */
    @FunctionalInterface
    public interface Reading {
      String run(Transactions.Work<String> work) throws SQLException;
    }

    private static final String PART = "SELECT pgonce.payload_part(?, ?, ?, ?, ?)";

    // At most 4 bytes each: below the 20 MiB that pgjdbc-ng takes in one message.
    private static final int CHARACTERS = 4_000_000;

    @Override
    public String text() throws SQLException, UnreadablePayloadException {
      if (bytes > LONGEST) {
        throw new UnreadablePayloadException(
            "its payload of "
                + bytes
                + " bytes is longer than "
                + LONGEST
                + " and was not fetched");
      }
      return reading.run(this::text);
    }

    private String text(Connection transaction) throws SQLException {
      var text = new StringBuilder(bytes);
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
            text.append(part);
            if (part.codePointCount(0, part.length()) < CHARACTERS) {
              return text.toString();
            }
          }
        }
      }
    }
  }
}
