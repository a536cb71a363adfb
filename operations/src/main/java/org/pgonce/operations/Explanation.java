package org.pgonce.operations;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * Why a notification is not moving, for one subscription, and what to do: see {@link
 * Operations#explain}. Times are by the database's clock. It never holds the payload.
 *
 * @param id of the notification; null where none waits and none was asked for
 * @param createdAt when the notification was stored; null if it is not there
 * @param since when the cause began: the transaction that has it, the wait for a lock, the pause,
 *     the death. Null where that is not known, or the role may not see it
 * @param until when time alone ends it; null if it does not
 * @param blockedBy the id of the notification that comes first; null but for {@link
 *     Cause#BLOCKED_BY} and {@link Cause#BLOCKED_BY_DEAD}
 * @param instance of the listener whose handler has it; null if it is not at work, or only since
 *     the listener's last heartbeat (10 s)
 * @param backendPid the server's process that holds it; null if none does
 * @param lastSql what that session ran last; null if there is none, and hidden by the server unless
 *     the role may see it ({@code pg_read_all_stats})
 * @param detail the cause in words: by whom, why, what differs. Each process of the server that it
 *     names is described at its end: program, role, address, state, since when
 * @param advice what to do
 * @param needsPerson whether neither time nor a listener ends it: docs/operations.md has when.
 *     Without an id also where something else is wrong in the subscription, as {@code detail} says
 */
public record Explanation(
    String subscription,
    @Nullable Long id,
    @Nullable Instant createdAt,
    Cause cause,
    @Nullable Instant since,
    @Nullable Instant until,
    @Nullable Long blockedBy,
    @Nullable String instance,
    @Nullable Integer backendPid,
    @Nullable String lastSql,
    String detail,
    String advice,
    boolean needsPerson) {

  /** Columns in the order of {@link #read}. */
  static final String COLUMNS =
      """
      e.subscription, e.id::text, (1000000 * extract(epoch FROM e.created_at))::bigint::text, e.cause,
      (1000000 * extract(epoch FROM e.since))::bigint::text, CASE WHEN e.until IS NOT NULL THEN least(1000000 * extract(epoch FROM e.until), 9223372036854775807)::bigint::text END,
      e.blocked_by::text, e.instance, e.pid::text, e.last_sql, e.detail, e.advice, e.needs_person""";

  /** Why a notification is not moving. Each hides those that follow it, down to {@link #DEAD}. */
  public enum Cause {
    /** A handler has it, and has waited for a lock of another session for more than a second. */
    LOCK_WAIT,
    /** A handler, or another transaction, has it. */
    AT_WORK,
    /** The database is a copy, in which nothing is handled until it is adopted. */
    COPY_NOT_ADOPTED,
    /** An operator or a handler has paused the subscription. */
    PAUSED,
    /** Its publisher gave it a later time. */
    SCHEDULED,
    /** An attempt has failed; the next one waits out its backoff. */
    RETRYING,
    /** Another one of its order key comes first. */
    BLOCKED_BY,
    /** A dead letter of its order key comes first, and the channel lets it block the key. */
    BLOCKED_BY_DEAD,
    /** As many of its key are at work as the limit per key allows. */
    LIMITED,
    /** No process listens to the subscription. */
    NO_LISTENER,
    /** All that listen have another definition of the channel than the installed one. */
    OUTDATED_LISTENERS,
    /** The channel's rate is used up. */
    THROTTLED,
    /** There are listeners, and they have no worker or no connection free. */
    STARVED,
    /** Nothing is in its way: a listener takes it next, or soon. */
    WAITING,
    /** It is a dead letter; without an id: nothing waits, and there are dead letters. */
    DEAD,
    /** It was handled, as the channel's history says. */
    HANDLED,
    /** It was not stored: a filter, a disabled trigger, a detached partition, a BROADCAST. */
    NOT_STORED,
    /** It is not there, and a transaction that is open may hold it. */
    NOT_COMMITTED_YET,
    /** It is not there: handled, discarded, cancelled, or never published. */
    DONE_OR_NEVER
  }

  static Explanation read(ResultSet row) throws SQLException {
    var pid = row.getString(9);
    return new Explanation(
        row.getString(1),
        number(row, 2),
        instant(row, 3),
        Cause.valueOf(row.getString(4)),
        instant(row, 5),
        instant(row, 6),
        number(row, 7),
        row.getString(8),
        pid == null ? null : Integer.valueOf(pid),
        row.getString(10),
        row.getString(11),
        row.getString(12),
        row.getBoolean(13));
  }

  private static @Nullable Long number(ResultSet row, int column) throws SQLException {
    var number = row.getString(column);
    return number == null ? null : Long.valueOf(number);
  }

  private static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
    var micros = number(row, column);
    return micros == null ? null : Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
