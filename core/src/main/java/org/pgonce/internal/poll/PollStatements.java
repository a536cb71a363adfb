package org.pgonce.internal.poll;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.Paused;
import org.pgonce.internal.jdbc.SqlArray;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Installed;

/** The statements of the poll, of the listener's entry in the registry, and of housekeeping. */
final class PollStatements {

  /** SQLState of a poll by a listener that is not registered (any more). */
  static final String NOT_REGISTERED = "PO002";

  // Arrays travel as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9. The rest does so
  // as well, to be bound in one way.
  private static final String REGISTER =
      "SELECT pgonce.listener_starts(?::text::uuid, ?, ?::text::integer[], ?, ?::text::bigint, ?::text::integer)";
  private static final String UNREGISTER = "SELECT pgonce.listener_stops(?::text::uuid)";
  private static final String SEEN =
      "SELECT pgonce.listener_seen(?::text::uuid, ?, ?::text::integer)";
  private static final String POLL =
      """
      SELECT i.ready, i.due, i.due_in_ms, i.paused_us, i.paused_by, i.pause_reason, i.queue_usage, i.gate_unfit, i.gate_open, i.listeners, i.rank, %s
        FROM pgonce.poll(?::text::uuid, ?::text::bigint[]) AS i
      """
          .formatted(Installed.COLUMNS);
  // Where the definition's columns begin; the mode comes second.
  private static final int DEFINITION = 12;

  // The server gives a task up after 10 s.
  private static final String BOUND_THE_TASK =
      "SELECT pg_catalog.set_config('statement_timeout', '10s', true)";
  private static final String KEEP_HOUSE = "SELECT pgonce.keep_house(?, ?::text::uuid)";

  private PollStatements() {}

  /**
   * The session by which a process listens.
   *
   * @param source the wake-up source, or {@code polling}
   * @param backend the server's process; null if there is no session
   */
  record ListensBy(String source, @Nullable String backend) {}

  /**
   * @param instance the process's name for people
   * @param silence after that long without a heartbeat the process counts as gone
   */
  static void register(
      Connection connection,
      UUID listener,
      String instance,
      Duration silence,
      List<Integer> subscriptions,
      ListensBy by)
      throws SQLException {
    Statements.execute(
        connection,
        REGISTER,
        listener.toString(),
        instance,
        SqlArray.of("subscription", subscriptions),
        by.source(),
        String.valueOf(silence.toMillis()),
        by.backend());
  }

  static void unregister(Connection connection, UUID listener) throws SQLException {
    Statements.execute(connection, UNREGISTER, listener.toString());
  }

  /** The heartbeat. */
  static void seen(Connection connection, UUID listener, ListensBy by) throws SQLException {
    Statements.execute(connection, SEEN, listener.toString(), by.source(), by.backend());
  }

  /**
   * Does one task of {@code pgonce.keep_house}.
   *
   * @return whether there may be more of it to do at once
   */
  static boolean keepHouse(Connection connection, String task, UUID listener) throws SQLException {
    Statements.execute(connection, BOUND_THE_TASK);
    return Statements.row(
        connection, KEEP_HOUSE, row -> row.getBoolean(1), task, listener.toString());
  }

  /**
   * Polls.
   *
   * @param after by subscription, in the order in which they are registered: the id behind which
   *     new rows are looked for; empty for the whole
   */
  static List<PollAnswer> poll(Connection connection, UUID listener, List<Long> after)
      throws SQLException {
    return Statements.rows(
        connection, POLL, PollStatements::answer, listener.toString(), SqlArray.of("id", after));
  }

  private static PollAnswer answer(ResultSet row) throws SQLException {
    var dueInMs = row.getLong("due_in_ms");
    var isScheduled = !row.wasNull();
    return new PollAnswer(
        row.getInt(DEFINITION),
        row.getBoolean("ready"),
        row.getBoolean("due"),
        isScheduled ? dueInMs : null,
        paused(row),
        row.getString(DEFINITION + 1) == null ? null : Installed.read(row, DEFINITION),
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
