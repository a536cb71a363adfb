package org.pgonce.internal.claim;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.deliver.PoolSettings;

/** The claim: one row, locked for the caller's transaction. */
public final class ClaimStatement {

  private static final String CLAIM =
      """
      SELECT c.id, c.scheduled, c.attempts, c.created_us, c.age_us,
             CASE WHEN pg_catalog.octet_length(c.payload) <= ? THEN c.payload END, c.more, pg_catalog.pg_backend_pid(),
             %s
        FROM pgonce.claim(?, 1, ?) AS c
      """
          .formatted(PoolSettings.COLUMN);

  private ClaimStatement() {}

  /**
   * Claims one due row, in a transaction that it begins.
   *
   * @return null if there is none that nobody else holds; the transaction is open all the same
   */
  public static @Nullable Claim claim(
      Connection connection, PoolSettings.Taken taken, int subscription, boolean dueFirst)
      throws SQLException {
    taken.begin();
    try (var statement = connection.prepareStatement(CLAIM)) {
      statement.setInt(1, taken.longestText());
      statement.setInt(2, subscription);
      statement.setBoolean(3, dueFirst);
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
    return claim(connection, taken, subscription, dueFirst);
  }

  private static Claim claim(Connection transaction, ResultSet row, int subscription)
      throws SQLException {
    var id = row.getLong(1);
    var scheduled = row.getBoolean(2);
    var payload = row.getString(6);
    return new Claim(
        subscription,
        id,
        scheduled,
        row.getInt(3),
        row.getLong(4),
        row.getLong(5),
        payload == null ? PayloadStatement.read(transaction, subscription, id, scheduled) : payload,
        row.getBoolean(7),
        row.getInt(8));
  }
}
