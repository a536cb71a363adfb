package org.pgonce.operations;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;

/**
 * One subscription of a channel at one moment: a row of the view {@code pgonce.channel_status}. A
 * {@link Mode#BROADCAST} stores nothing, so nothing of it waits.
 *
 * @param fedBy what the channel is fed by: {@code published}, or the trigger and its table
 * @param subscription {@code default} where the channel defines none
 * @param waiting stored and due at once, those that a handler has in hand included
 * @param scheduled due at a time: delayed, put back, to be tried again, or leased to a handler
 * @param retrying of the scheduled ones those that failed and wait for their next attempt
 * @param mostAttempts the most attempts of a scheduled one; 0 if there is none
 * @param oldestAge since when the one that has been due for longest is due, by the database's
 *     clock; null if nothing is due
 * @param listeners processes that listen to it, as far as they were seen of late
 * @param paused null if it is not paused
 * @param notifyGate whether writers notify: OPEN and NOBODY LISTENS (they do not need to), CLOSED
 *     and ALWAYS CLOSED (they do), NEVER NOTIFIED
 * @param hint where it may look idle and is not: a trigger of its table is disabled or gone, or
 *     nothing waits and a transaction has published something, here or elsewhere, and is open for
 *     more than 10 s, as far as the role sees that ({@code pg_read_all_stats}); null if there is
 *     none of these. {@link Operations#explain} says more
 */
public record ChannelStatus(
    String channel,
    String subscription,
    Mode mode,
    String fedBy,
    long waiting,
    long scheduled,
    long retrying,
    int mostAttempts,
    @Nullable Duration oldestAge,
    long deadLetters,
    long listeners,
    @Nullable Pause paused,
    String notifyGate,
    @Nullable String hint) {

  static final String SQL =
      """
      SELECT s.channel, s.subscription, s.mode, s.feed, s.backlog, s.scheduled, s.retrying, coalesce(s.most_attempts, 0),
             (1000000 * extract(epoch FROM s.oldest_age))::bigint, s.dead_letters, s.listeners,
             (1000000 * extract(epoch FROM s.paused_since))::bigint, s.paused_by, s.pause_reason, s.notify_gate, s.hint
        FROM pgonce.channel_status AS s WHERE s.subscription IS NOT NULL ORDER BY s.channel, s.subscription
      """;

  /**
   * A pause; {@code Operations.resume} ends it.
   *
   * @param since by the database's clock
   * @param by the person, instance or role that paused it
   */
  public record Pause(Instant since, String by, String reason) {}

  static ChannelStatus read(ResultSet row) throws SQLException {
    var age = row.getLong(9);
    var oldestAge = row.wasNull() ? null : Duration.of(age, ChronoUnit.MICROS);
    var since = Operator.instant(row, 12);
    var paused = row.wasNull() ? null : new Pause(since, row.getString(13), row.getString(14));
    return new ChannelStatus(
        row.getString(1),
        row.getString(2),
        Mode.valueOf(row.getString(3)),
        row.getString(4),
        row.getLong(5),
        row.getLong(6),
        row.getLong(7),
        row.getInt(8),
        oldestAge,
        row.getLong(10),
        row.getLong(11),
        paused,
        row.getString(15),
        row.getString(16));
  }
}
