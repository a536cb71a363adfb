package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.deliver.PoolSettings;

/** The claim: one row, locked for the caller's transaction. */
public final class ClaimStatement {

  private static final String CLAIM =
      """
      SELECT c.id, c.scheduled, c.attempts, c.created_us, c.age_us,
             CASE WHEN pg_catalog.octet_length(c.payload) <= ? THEN c.payload END, pg_catalog.octet_length(c.payload),
             c.more,
             %s,
             %s
        FROM pgonce.claim(?, 1, ?) AS c
      """
          .formatted(ClaimHolder.COLUMNS, PoolSettings.COLUMN);

  private ClaimStatement() {}

  /**
   * Claims one due row, in a transaction that it begins.
   *
   * @param handlerTimeout how long its handler may take: the session may idle a little longer
   * @return null if there is none that nobody else holds; the transaction is open all the same
   */
  public static @Nullable Claim claim(
      Connection connection,
      PoolSettings.Taken taken,
      int subscription,
      boolean dueFirst,
      Duration handlerTimeout)
      throws SQLException {
    taken.begin();
    try (var statement = connection.prepareStatement(CLAIM)) {
      statement.setInt(1, Payload.SHORT);
      statement.setLong(2, ClaimHolder.idleBoundMs(handlerTimeout));
      statement.setLong(3, ClaimHolder.idleBoundMs(handlerTimeout));
      statement.setInt(4, subscription);
      statement.setBoolean(5, dueFirst);
      try (var row = statement.executeQuery()) {
        if (!row.next()) {
          return null;
        }
        if (!taken.mustBeginAgain(row)) {
          return claim(connection, row, subscription);
        }
      }
    } catch (SQLException e) {
      if (!taken.mustBeginAgain(e)) {
        throw e;
      }
    }
    connection.rollback();
    return claim(connection, taken, subscription, dueFirst, handlerTimeout);
  }

  private static Claim claim(Connection transaction, ResultSet row, int subscription)
      throws SQLException {
    var id = row.getLong(1);
    var scheduled = row.getBoolean(2);
    var createdUs = row.getLong(4);
    var ageUs = row.getLong(5);
    var payload = row.getString(6);
    return new Claim(
        subscription,
        id,
        scheduled,
        row.getInt(3),
        createdUs,
        ageUs,
        payload == null
            ? new Payload.Stored(transaction, subscription, id, scheduled, row.getInt(7))
            : new Payload.Fetched(payload),
        row.getBoolean(8),
        ClaimHolder.of(row, createdUs + ageUs));
  }
}
