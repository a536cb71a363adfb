package org.pgonce.internal.operate;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.Operations.Cancelled;
import org.pgonce.Operations.Waiting;

/** The statements of operations, each in the caller's transaction. */
public final class OperateStatements {

  public static final String PAUSE = "SELECT pgonce.pause(?, ?, ?)";
  public static final String RESUME = "SELECT pgonce.resume(?, ?, ?)";
  private static final String CANCEL =
      """
      SELECT c.cancelled, c.being_handled
        FROM pgonce.cancel(?, ?::text::bigint[], ?::text::text[], ?) AS c
      """;
  private static final String PEEK =
      """
      SELECT p.subscription, p.id, p.attempts,
             (1000000 * extract(epoch FROM p.due_at))::bigint, (1000000 * extract(epoch FROM p.created_at))::bigint,
             p.last_error, p.delivery_key, p.order_key, p.context::text, p.version, p.payload::text
        FROM pgonce.peek(?, ?, NULL, ?) AS p
      """;
  private static final String DROP_CHANNEL = "SELECT pgonce.drop_channel(?, ?)";
  private static final String ADOPT = "SELECT pgonce.adopt(?)";
  private static final String DROP_SUBSCRIPTION = "SELECT pgonce.drop_subscription(?, ?, ?)";

  // Somebody may be pausing or resuming it in a transaction that he has left open.
  private static final String BOUND_THE_WAIT = "SET LOCAL lock_timeout = '5s'";

  private OperateStatements() {}

  /**
   * Pauses or resumes.
   *
   * @param subscription null for all
   * @return how many subscriptions it has changed
   */
  public static long pauseOrResume(
      Connection transaction,
      String sql,
      String channel,
      String reason,
      @Nullable String subscription)
      throws SQLException {
    try (var statement = transaction.prepareStatement(sql)) {
      statement.setString(1, channel);
      statement.setString(2, reason);
      statement.setString(3, subscription);
      try (var row = statement.executeQuery()) {
        row.next();
        return row.getLong(1);
      }
    }
  }

  /** Pauses for a handler of this instance; no error if it is paused already. */
  public static void pauseByHandler(
      Connection transaction, String channel, String subscription, String reason, String instance)
      throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(BOUND_THE_WAIT);
    }
    OperatorTransactions.nameOperator(transaction, instance);
    var unused = pauseOrResume(transaction, PAUSE, channel, reason, subscription);
  }

  /** Cancels by ids or by keys, given as arrays in text. */
  public static Cancelled cancel(
      Connection transaction,
      String channel,
      @Nullable String ids,
      @Nullable String keys,
      String reason)
      throws SQLException {
    try (var statement = transaction.prepareStatement(CANCEL)) {
      statement.setString(1, channel);
      statement.setString(2, ids);
      statement.setString(3, keys);
      statement.setString(4, reason);
      try (var row = statement.executeQuery()) {
        row.next();
        return new Cancelled(row.getLong(1), row.getLong(2));
      }
    }
  }

  /** What waits, the oldest first. */
  public static List<Waiting> peek(
      Connection transaction, String channel, int limit, boolean payloads) throws SQLException {
    try (var statement = transaction.prepareStatement(PEEK)) {
      statement.setString(1, channel);
      statement.setInt(2, limit);
      statement.setBoolean(3, payloads);
      var waiting = new ArrayList<Waiting>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          waiting.add(
              new Waiting(
                  row.getString(1),
                  row.getLong(2),
                  row.getInt(3),
                  instant(row, 4),
                  instant(row, 5),
                  row.getString(6),
                  row.getString(7),
                  row.getString(8),
                  row.getString(9),
                  row.getInt(10),
                  row.getString(11)));
        }
      }
      return waiting;
    }
  }

  private static Instant instant(ResultSet row, int column) throws SQLException {
    return Instant.EPOCH.plus(row.getLong(column), ChronoUnit.MICROS);
  }

  /** Drops a channel; false if it is not there. */
  public static boolean dropChannel(Connection transaction, String channel, String reason)
      throws SQLException {
    try (var statement = transaction.prepareStatement(DROP_CHANNEL)) {
      statement.setString(1, channel);
      statement.setString(2, reason);
      return isTrue(statement.executeQuery());
    }
  }

  /** Drops a subscription; false if it is not there. */
  public static boolean dropSubscription(
      Connection transaction, String channel, String subscription, String reason)
      throws SQLException {
    try (var statement = transaction.prepareStatement(DROP_SUBSCRIPTION)) {
      statement.setString(1, channel);
      statement.setString(2, subscription);
      statement.setString(3, reason);
      return isTrue(statement.executeQuery());
    }
  }

  /** Adopts the database. */
  public static void adopt(Connection transaction, String reason) throws SQLException {
    try (var statement = transaction.prepareStatement(ADOPT)) {
      statement.setString(1, reason);
      statement.execute();
    }
  }

  private static boolean isTrue(ResultSet result) throws SQLException {
    try (result) {
      return result.next() && result.getBoolean(1);
    }
  }
}
