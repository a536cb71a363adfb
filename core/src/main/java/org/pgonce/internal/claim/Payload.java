package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/**
 * What a claimed notification carries. A short payload comes with the claim. A longer one, and each
 * in a database of encoding SQL_ASCII, is fetched by its attempt, in parts: what that takes, memory
 * above all, fails the attempt, which is counted.
 *
 * @param fetched null if it is still in the row that the claim holds
 * @param reading the transaction in which it is read from there
 */
public record Payload(
    @Nullable String fetched, Reading reading, int subscription, long id, boolean scheduled) {

  /**
   * Bytes of its place in the table that come with the claim. PostgreSQL compresses by 1 to 255 at
   * the most, a byte can become three on the wire, where the database is not UTF-8, and pgjdbc-ng
   * gives up its connection at 20 MiB.
   */
  static final int SHORT = 16_000;

  /** Bytes, as the database encodes them, that are fetched at all. */
  private static final int LONGEST = 100 * 1024 * 1024;

  private static final String PART =
      """
      SELECT pg_catalog.octet_length(r.payload::pg_catalog.text) AS bytes, pg_catalog.substr(r.payload::pg_catalog.text, ?, ?) AS part
        FROM pgonce.%s AS r
       WHERE r.subscription_id OPERATOR(pg_catalog.=) ? AND r.id OPERATOR(pg_catalog.=) ?
      """;
  private static final String PART_OF_NEW = PART.formatted("notification");
  private static final String PART_OF_SCHEDULED = PART.formatted("scheduled");

  // At most 4 bytes each: below the 20 MiB that pgjdbc-ng takes in one message.
  private static final int CHARACTERS = 4_000_000;

  /** The claim's transaction, or another where the claim has none. */
  @FunctionalInterface
  interface Reading {
    int run(Transactions.Work<Integer> work) throws SQLException;
  }

  /**
   * The JSON text. Call it on the claim's thread, before its handler has the connection.
   *
   * @throws UnreadablePayloadException if it is longer than 100 MiB
   */
  public String text() throws SQLException, UnreadablePayloadException {
    if (fetched != null) {
      return fetched;
    }
    var text = new StringBuilder();
    var bytes = reading.run(transaction -> read(transaction, text));
    if (bytes > LONGEST) {
      throw new UnreadablePayloadException(
          "its payload of %d bytes is longer than %d and was not fetched"
              .formatted(bytes, LONGEST));
    }
    return text.toString();
  }

  /** Returns how many bytes it has; if that is more than {@link #LONGEST}, not all are read. */
  private int read(Connection transaction, StringBuilder text) throws SQLException {
    text.setLength(0);
    try (var statement =
        transaction.prepareStatement(scheduled ? PART_OF_SCHEDULED : PART_OF_NEW)) {
      statement.setInt(2, CHARACTERS);
      statement.setInt(3, subscription);
      statement.setLong(4, id);
      for (var first = 1; ; first += CHARACTERS) {
        statement.setInt(1, first);
        try (var row = statement.executeQuery()) {
          if (!row.next()) {
            throw new SQLException("notification " + id + " is no longer there");
          }
          var bytes = row.getInt("bytes");
          var part = row.getString("part");
          text.append(part);
          if (bytes > LONGEST || part.codePointCount(0, part.length()) < CHARACTERS) {
            return bytes;
          }
        }
      }
    }
  }

  /** The text stays out of messages. */
  @Override
  public String toString() {
    return "payload of notification " + id;
  }
}
