package org.pgonce.internal.settle;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;

/** The statements that end a notification's way, or send it back. */
final class SettleStatements {

  private static final String NEW =
      """
      DELETE FROM pgonce.notification AS h
       WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ?
      """;
  private static final String DUE =
      """
      DELETE FROM pgonce.scheduled AS h
       WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ?
      """;
  private static final String LEASED =
      DUE + " AND h.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid\n";
  // Whether another row lies behind it, held by someone or not, is a sign that somebody has
  // something to do: so no claim is needed to find out that nothing is left.
  private static final String BEHIND =
      """
      RETURNING (SELECT b.id FROM pgonce.notification AS b
                  WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.>) h.id
                  ORDER BY b.id LIMIT 1) IS NOT NULL, false
      """;
  // The end of a scheduled one says nothing of new ones, unless it was leased as a new one.
  private static final String NOTHING = "RETURNING false, false";
  // Where they wait for one another, its end may have set any free.
  private static final String ANY =
      """
      RETURNING (SELECT b.id FROM pgonce.notification AS b
                  WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id
                  ORDER BY b.id LIMIT 1) IS NOT NULL,
                (SELECT d.id FROM pgonce.scheduled AS d
                  WHERE d.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND d.id OPERATOR(pg_catalog.<>) h.id
                    AND d.due_at OPERATOR(pg_catalog.<=) (SELECT pg_catalog.clock_timestamp())
                  ORDER BY d.due_at LIMIT 1) IS NOT NULL
      """;
  private static final String COMPLETE_NEW = NEW + BEHIND;
  private static final String COMPLETE_DUE = DUE + NOTHING;
  private static final String COMPLETE_LEASED = LEASED + BEHIND;
  private static final String COMPLETE_NEW_BY_KEY = NEW + ANY;
  private static final String COMPLETE_DUE_BY_KEY = DUE + ANY;
  private static final String COMPLETE_LEASED_BY_KEY = LEASED + ANY;
  // Of several; what lies behind the last of them is new to everyone.
  private static final String COMPLETE_ALL_NEW =
      """
      WITH gone AS (
        DELETE FROM pgonce.notification AS h
         WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
        RETURNING h.id
      )
      SELECT pg_catalog.count(*),
             (SELECT b.id FROM pgonce.notification AS b
               WHERE b.subscription_id OPERATOR(pg_catalog.=) ? AND b.id OPERATOR(pg_catalog.>) ?
               ORDER BY b.id LIMIT 1) IS NOT NULL
        FROM gone
      """;
  private static final String COMPLETE_ALL_DUE =
      COMPLETE_ALL_NEW.replace("DELETE FROM pgonce.notification", "DELETE FROM pgonce.scheduled");
  private static final String KEY_DONE = "SELECT pgonce.key_done(?, ?, ?)";
  private static final String NOT_THERE = "PO001";
  private static final String SCHEDULE =
      "SELECT pgonce.schedule(?, ?, ?, ?::text::uuid, ?, ?::text::uuid, ?, ?, ?)";
  private static final String BURY = "SELECT pgonce.bury(?, ?, ?, ?::text::uuid, ?, ?, ?)";

  private SettleStatements() {}

  /**
   * Deletes the handled row, in the transaction of its handler, and is done with its delivery key,
   * if its publisher gave one. A leased row must still have its token.
   *
   * @param byKey whether others may have waited for it
   * @return what lies behind it
   * @throws SQLException with SQLState PO001 if the row is not there: never taken for success
   */
  static Left complete(Connection transaction, Claim claim, boolean byKey) throws SQLException {
    var left = delete(transaction, claim, byKey);
    var key = claim.origin().deliveryKey();
    if (key != null) {
      keyDone(transaction, claim, key);
    }
    return left;
  }

  /**
   * The same for several that one transaction holds.
   *
   * @param claims in the order of their ids
   * @throws SQLException with SQLState PO001 if one is not there
   */
  static Left completeAll(Connection transaction, List<Claim> claims) throws SQLException {
    var first = claims.get(0);
    Left left;
    try (var statement =
        transaction.prepareStatement(first.scheduled() ? COMPLETE_ALL_DUE : COMPLETE_ALL_NEW)) {
      statement.setInt(1, first.subscription());
      // As text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
      statement.setString(
          2,
          claims.stream()
              .map(claim -> String.valueOf(claim.id()))
              .collect(Collectors.joining(",", "{", "}")));
      statement.setInt(3, first.subscription());
      statement.setLong(4, claims.get(claims.size() - 1).id());
      try (var row = statement.executeQuery()) {
        row.next();
        if (row.getLong(1) != claims.size()) {
          throw new SQLException(
              "of %d notifications only %d are still there: the others were deleted while they were claimed, and the work on all is undone"
                  .formatted(claims.size(), row.getLong(1)),
              NOT_THERE);
        }
        left = new Left(row.getBoolean(2), false);
      }
    }
    for (var claim : claims) {
      var key = claim.origin().deliveryKey();
      if (key != null) {
        keyDone(transaction, claim, key);
      }
    }
    return left;
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

  private static Left delete(Connection transaction, Claim claim, boolean byKey)
      throws SQLException {
    try (var statement = transaction.prepareStatement(completion(claim, byKey))) {
      statement.setInt(1, claim.subscription());
      statement.setLong(2, claim.id());
      if (claim.token() != null) {
        statement.setString(3, claim.token());
      }
      try (var row = statement.executeQuery()) {
        if (!row.next()) {
          throw new SQLException(
              claim
                  + (claim.holder() != null
                      ? " is no longer there: it was deleted while it was claimed, and its handler is"
                          + " undone"
                      : " is no longer leased to this process: its lease was over before its handler"
                          + " returned, and what that wrote through its transaction is undone"),
              NOT_THERE);
        }
        return new Left(row.getBoolean(1), row.getBoolean(2));
      }
    }
  }

  private static String completion(Claim claim, boolean byKey) {
    if (claim.token() != null) {
      return byKey ? COMPLETE_LEASED_BY_KEY : COMPLETE_LEASED;
    }
    if (claim.scheduled()) {
      return byKey ? COMPLETE_DUE_BY_KEY : COMPLETE_DUE;
    }
    return byKey ? COMPLETE_NEW_BY_KEY : COMPLETE_NEW;
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
