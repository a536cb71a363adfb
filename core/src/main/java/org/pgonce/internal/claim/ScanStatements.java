package org.pgonce.internal.claim;

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
import org.pgonce.internal.store.Definition;

/**
 * The statements of a listener's slow scan, of its entry in the list of listeners, and of its
 * housekeeping.
 */
public final class ScanStatements {

  /** SQLState of a scan by a listener that is not on the list (any more). */
  public static final String NOT_REGISTERED = "PO002";

  // Arrays travel as text: createArrayOf leaks direct memory in pgjdbc-ng 0.8.9.
  private static final String REGISTER =
      "SELECT pgonce.listener_starts(?::text::uuid, ?, ?::text::integer[], ?, ?, ?)";
  private static final String UNREGISTER = "SELECT pgonce.listener_stops(?::text::uuid)";
  private static final String HEARS_NO_MORE = "SELECT pgonce.listener_hears_no_more(?::text::uuid)";
  private static final String SCAN =
      """
      SELECT i.ready, i.due, i.due_in_ms, i.paused_us, i.paused_by, i.pause_reason, i.queue_usage, i.awake, i.listeners, i.first, %s
        FROM pgonce.scan(?::text::uuid) AS i
      """
          .formatted(Definition.COLUMNS);

  private static final String SEEN = "SELECT pgonce.listener_seen(?::text::uuid, ?, ?)";
  // One that takes longer is given up by the server, and says so.
  private static final String BOUND_THE_TASK =
      "SELECT pg_catalog.set_config('statement_timeout', '10s', true)";
  private static final String KEEP_HOUSE = "SELECT pgonce.keep_house(?, ?::text::uuid)";

  // Where its columns begin; the mode comes second.
  private static final int DEFINITION = 11;

  private ScanStatements() {}

  /**
   * What a scan found for a subscription.
   *
   * @param ready whether a new row waits, claimed or not
   * @param due whether a scheduled row is due, claimed or not
   * @param dueInMs milliseconds until the next scheduled row will be due; null if none will
   * @param paused that it is paused; null if it is not
   * @param definition how it is installed by now; null if it does not exist any more
   * @param queueUsage the share of the server's NOTIFY queue that is in use, 0 to 1
   * @param awake whether a listener is awake, see {@link WordStatements}, or owes looks since
   * @param listeners how many are on the list
   * @param first whether this one is the one of them who answers wake-ups at once
   */
  public record Found(
      int subscription,
      boolean ready,
      boolean due,
      @Nullable Long dueInMs,
      @Nullable Paused paused,
      @Nullable Definition definition,
      double queueUsage,
      boolean awake,
      int listeners,
      boolean first) {}

  /**
   * By which session a process hears.
   *
   * @param source the wake-up source, or {@code polling}
   * @param backend the server's process of its LISTEN session; null if there is none
   */
  public record HearsBy(String source, @Nullable Integer backend) {

    private void bind(PreparedStatement statement, int sourceAt, int backendAt)
        throws SQLException {
      statement.setString(sourceAt, source);
      statement.setObject(backendAt, backend, Types.INTEGER);
    }
  }

  public static void register(
      Connection connection,
      ListenerIdentity identity,
      List<Integer> subscriptions,
      HearsBy hearsBy)
      throws SQLException {
    try (var statement = connection.prepareStatement(REGISTER)) {
      statement.setString(1, identity.id().toString());
      statement.setString(2, identity.instance());
      statement.setString(
          3,
          subscriptions.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}")));
      hearsBy.bind(statement, 4, 6);
      // Five scans missed: gone, not slow.
      statement.setLong(5, 5 * identity.pollInterval().toMillis());
      statement.execute();
    }
  }

  public static void unregister(Connection connection, UUID listener) throws SQLException {
    try (var statement = connection.prepareStatement(UNREGISTER)) {
      statement.setString(1, listener.toString());
      statement.execute();
    }
  }

  /** It is about to stop: others answer wake-ups. */
  public static void hearsNoMore(Connection connection, UUID listener) throws SQLException {
    try (var statement = connection.prepareStatement(HEARS_NO_MORE)) {
      statement.setString(1, listener.toString());
      statement.execute();
    }
  }

  /**
   * Its sign of life.
   *
   * @return whether it hears otherwise than it did at the last one
   */
  public static boolean seen(Connection connection, UUID listener, HearsBy hearsBy)
      throws SQLException {
    try (var statement = connection.prepareStatement(SEEN)) {
      statement.setString(1, listener.toString());
      hearsBy.bind(statement, 2, 3);
      return isTrue(statement);
    }
  }

  /**
   * Does one task of {@code pgonce.keep_house}.
   *
   * @return whether there may be more of it to do at once
   */
  public static boolean keepHouse(Connection connection, String task, UUID listener)
      throws SQLException {
    try (var bound = connection.createStatement()) {
      bound.execute(BOUND_THE_TASK);
    }
    try (var statement = connection.prepareStatement(KEEP_HOUSE)) {
      statement.setString(1, task);
      statement.setString(2, listener.toString());
      return isTrue(statement);
    }
  }

  private static boolean isTrue(PreparedStatement statement) throws SQLException {
    try (var row = statement.executeQuery()) {
      return row.next() && row.getBoolean(1);
    }
  }

  public static List<Found> scan(Connection connection, UUID listener) throws SQLException {
    var found = new ArrayList<Found>();
    try (var statement = connection.prepareStatement(SCAN)) {
      statement.setString(1, listener.toString());
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          var dueInMs = row.getLong(3);
          var scheduled = !row.wasNull();
          found.add(
              new Found(
                  row.getInt(DEFINITION),
                  row.getBoolean(1),
                  row.getBoolean(2),
                  scheduled ? dueInMs : null,
                  paused(row),
                  row.getString(DEFINITION + 1) == null ? null : Definition.read(row, DEFINITION),
                  row.getDouble(7),
                  row.getBoolean(8),
                  row.getInt(9),
                  row.getBoolean(10)));
        }
      }
    }
    return found;
  }

  private static @Nullable Paused paused(ResultSet row) throws SQLException {
    var since = row.getLong(4);
    return row.wasNull()
        ? null
        : new Paused(
            Instant.EPOCH.plus(since, ChronoUnit.MICROS), row.getString(5), row.getString(6));
  }
}
