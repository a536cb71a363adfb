package org.pgonce.micrometer;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * What the database said at one moment.
 *
 * @param takenAt by System.nanoTime()
 * @param queueUsage the share of the server's NOTIFY queue that is in use, 0 to 1
 */
record Sample(long takenAt, double queueUsage, Map<Of, Waiting> waiting) {

  /** Whose row it is. */
  record Of(String channel, String subscription) {}

  /** A row of {@code pgonce.channel_gauges}. */
  record Waiting(
      double backlog,
      double scheduled,
      double retrying,
      double deadLetters,
      double oldestAge,
      double listeners,
      double paused) {

    static final Waiting UNKNOWN =
        new Waiting(
            Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN);
  }

  // JIT would take longer than the query does.
  private static final String BOUND =
      "SELECT pg_catalog.set_config('statement_timeout', ?, true), pg_catalog.set_config('jit', 'off', true)";
  // A row even where there is no channel.
  private static final String LOOK =
      """
      SELECT pg_catalog.pg_notification_queue_usage(), g.channel, g.subscription, g.backlog, g.scheduled, g.retrying, g.dead_letters,
             g.oldest_age, g.listeners, g.paused::integer
        FROM (VALUES (1)) AS always
        LEFT JOIN pgonce.channel_gauges g ON true
      """;

  /** No answer, yet or any more. */
  static Sample none() {
    return new Sample(System.nanoTime(), Double.NaN, Map.of());
  }

  static Sample take(Connection transaction, Duration atMost) throws SQLException {
    try (var bound = transaction.prepareStatement(BOUND)) {
      bound.setString(1, Long.toString(atMost.toMillis()));
      bound.execute();
    }
    var usage = Double.NaN;
    var waiting = new HashMap<Of, Waiting>();
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(LOOK)) {
      while (row.next()) {
        usage = row.getDouble(1);
        var channel = row.getString(2);
        if (channel != null) {
          waiting.put(
              new Of(channel, row.getString(3)),
              new Waiting(
                  row.getDouble(4),
                  row.getDouble(5),
                  row.getDouble(6),
                  row.getDouble(7),
                  row.getDouble(8),
                  row.getDouble(9),
                  row.getDouble(10)));
        }
      }
    }
    return new Sample(System.nanoTime(), usage, Map.copyOf(waiting));
  }

  boolean isAnswer() {
    return !Double.isNaN(queueUsage);
  }

  Waiting of(Of of) {
    return waiting.getOrDefault(of, Waiting.UNKNOWN);
  }
}
