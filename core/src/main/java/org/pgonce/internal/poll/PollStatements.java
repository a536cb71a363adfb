package org.pgonce.internal.poll;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Status.Paused;
import org.pgonce.internal.store.Installed;

/** The statements of the poll, of the listener's entry in the registry, and of housekeeping. */
final class PollStatements {

  /** SQLState of a poll by a listener that is not registered (any more). */
  static final String NOT_REGISTERED = "PO002";

  // Arrays travel as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
  private static final String REGISTER =
      "SELECT pgonce.listener_starts(?::text::uuid, ?, ?::text::integer[], ?, ?, ?)";
  private static final String UNREGISTER = "SELECT pgonce.listener_stops(?::text::uuid)";
  private static final String POLL =
      """
      SELECT i.ready, i.due, i.due_in_ms, i.paused_us, i.paused_by, i.pause_reason, i.queue_usage, i.gate_unfit, i.gate_open, i.listeners, i.rank, %s
        FROM pgonce.poll(?::text::uuid, ?::text::bigint[]) AS i
      """
          .formatted(Installed.COLUMNS);

  private static final String SEEN = "SELECT pgonce.listener_seen(?::text::uuid, ?, ?)";
  // One that takes longer is given up by the server, and says so.
  private static final String BOUND_THE_TASK =
      "SELECT pg_catalog.set_config('statement_timeout', '10s', true)";
  private static final String KEEP_HOUSE = "SELECT pgonce.keep_house(?, ?::text::uuid)";

  // Where its columns begin; the mode comes second.
  private static final int DEFINITION = 12;

  private PollStatements() {}

  /**
   * By which session a process listens.
   *
   * @param source the wake-up source, or {@code polling}
   * @param backend the server's process of its LISTEN session; null if there is none
   */
  record ListensBy(String source, @Nullable Integer backend) {

    private void bind(PreparedStatement statement, int sourceAt, int backendAt)
        throws SQLException {
      statement.setString(sourceAt, source);
      statement.setObject(backendAt, backend, Types.INTEGER);
    }
  }

  static void register(
      Connection connection,
      ListenerIdentity identity,
      List<Integer> subscriptions,
      ListensBy listensBy)
      throws SQLException {
    try (var statement = connection.prepareStatement(REGISTER)) {
      statement.setString(1, identity.id().toString());
      statement.setString(2, identity.instance());
      statement.setString(3, array(subscriptions));
      listensBy.bind(statement, 4, 6);
      statement.setLong(5, identity.silence().toMillis());
      statement.execute();
    }
  }

  static void unregister(Connection connection, UUID listener) throws SQLException {
    try (var statement = connection.prepareStatement(UNREGISTER)) {
      statement.setString(1, listener.toString());
      statement.execute();
    }
  }

  /** Its heartbeat. */
  static void seen(Connection connection, UUID listener, ListensBy listensBy) throws SQLException {
    try (var statement = connection.prepareStatement(SEEN)) {
      statement.setString(1, listener.toString());
      listensBy.bind(statement, 2, 3);
      statement.execute();
    }
  }

  /**
   * Does one task of {@code pgonce.keep_house}.
   *
   * @return whether there may be more of it to do at once
   */
  static boolean keepHouse(Connection connection, String task, UUID listener) throws SQLException {
    try (var bound = connection.createStatement()) {
      bound.execute(BOUND_THE_TASK);
    }
    try (var statement = connection.prepareStatement(KEEP_HOUSE)) {
      statement.setString(1, task);
      statement.setString(2, listener.toString());
      try (var row = statement.executeQuery()) {
        return row.next() && row.getBoolean(1);
      }
    }
  }

  /**
   * Polls.
   *
   * @param after by subscription, in the order in which they are registered: the id behind which
   *     new rows are looked for; empty for the whole
   */
  static List<PollAnswer> poll(Connection connection, UUID listener, List<Long> after)
      throws SQLException {
    var answers = new ArrayList<PollAnswer>();
    try (var statement = connection.prepareStatement(POLL)) {
      statement.setString(1, listener.toString());
      statement.setString(2, array(after));
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          answers.add(answer(row));
        }
      }
    }
    return answers;
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

  private static String array(List<? extends Number> numbers) {
    return numbers.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}"));
  }
}
