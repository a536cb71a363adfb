package org.pgonce.internal.poll;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.Paused;
import org.pgonce.internal.store.Installed;

/**
 * What a poll says of one subscription.
 *
 * @param ready whether a new row waits for this process, claimed or not: see sql/poll.sql
 * @param due whether a scheduled row is due, claimed or not
 * @param waits whether one of these is there, also a new one that is left to another process
 * @param dueInMs milliseconds until the next scheduled row will be due; null if none will
 * @param paused that it is paused; null if it is not
 * @param definition how it is installed by now; null if it does not exist any more
 * @param queueUsage the share of the server's NOTIFY queue that is in use, 0 to 1
 * @param gateUnfit whether the channel's gate has a value that it must not have while a process
 *     listens
 * @param gateOpen whether a process has opened the channel's gate
 * @param listeners how many processes are registered for it
 * @param rank how many of them come before this one in answering wake-ups
 */
public record PollAnswer(
    int subscription,
    boolean ready,
    boolean due,
    boolean waits,
    @Nullable Long dueInMs,
    @Nullable Paused paused,
    @Nullable Installed definition,
    double queueUsage,
    boolean gateUnfit,
    boolean gateOpen,
    int listeners,
    int rank) {

  /** Reads a row of {@code pgonce.poll}. */
  static PollAnswer of(ResultSet row) throws SQLException {
    var dueInMs = row.getLong("due_in_ms");
    var isScheduled = !row.wasNull();
    var due = row.getBoolean("due");
    var waits = due || row.getString("ready") != null;
    return new PollAnswer(
        row.getInt("subscription"),
        row.getBoolean("ready"),
        due,
        waits,
        isScheduled ? dueInMs : null,
        paused(row),
        row.getString("mode") == null ? null : Installed.of(row),
        row.getDouble("queue_usage"),
        row.getBoolean("gate_unfit"),
        row.getBoolean("gate_open"),
        row.getInt("listeners"),
        row.getInt("rank"));
  }

  private static @Nullable Paused paused(ResultSet row) throws SQLException {
    var since = row.getLong("paused_us");
    return row.wasNull()
        ? null
        : new Paused(
            Instant.EPOCH.plus(since, ChronoUnit.MICROS),
            row.getString("paused_by"),
            row.getString("pause_reason"));
  }
}
