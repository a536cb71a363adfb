package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes function and triggers as defined, in the caller's transaction. */
public final class Installer {

  private static final Logger LOG = LoggerFactory.getLogger(Installer.class);

  // Two that create the same function at once: the second fails with «tuple concurrently updated».
  private static final String LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(" + lockKey() + ")";

  // The path is not pinned: a table may be found by it.
  private static final String LOCK_SCRIPT =
      """
      DO $$
      DECLARE
        before constant pg_catalog.text := pg_catalog.current_setting('lock_timeout');
      BEGIN
        PERFORM pg_catalog.set_config('lock_timeout', '%s ms', true);
        PERFORM pg_catalog.pg_advisory_xact_lock(%s);
        PERFORM pg_catalog.set_config('lock_timeout', before, true);
      EXCEPTION WHEN lock_not_available THEN
        RAISE EXCEPTION 'pgonce cannot change the triggers of channel %s in database %%, nothing was changed: another installation there has not ended within %s ms; run this again when its transaction has ended (pg_locks shows it, locktype advisory)',
          pg_catalog.current_database() USING ERRCODE = 'lock_not_available';
      END
      $$;
      """;

  private static final String LET_CAPTURE = "SELECT pgonce.let_capture(?, ?)";
  private static final String REFUSE_ANOTHER = "SELECT pgonce.refuse_function_of_another(?, ?)";
  private static final String KNOW_PARTITIONS =
      "SELECT pgonce.know_partitions(?, CAST(CAST(? AS bigint) AS oid))";

  private final Connection transaction;
  private final Capture capture;

  Installer(Connection transaction, Capture capture) {
    this.transaction = transaction;
    this.capture = capture;
  }

  /** What {@link #lock} does, as a script, which waits for a bounded time. */
  static String lockScript(String channel, int waitMs) {
    return LOCK_SCRIPT.formatted(waitMs, lockKey(), channel, waitMs);
  }

  /** One for all channels of a database: "pgonce" in ASCII, and 1. */
  private static long lockKey() {
    return 123589553447782L;
  }

  /**
   * Does what is to be done, and nothing if nothing is: then no lock is taken. Of several channels
   * first what needs no lock of a table, then all their triggers together.
   *
   * @throws PgOnceException if table and definition do not go together, or rights are missing, or
   *     the table is locked by others
   */
  public static void install(Connection transaction, List<Capture> captures) throws SQLException {
    var changes = new ArrayList<TableChange>();
    for (var capture : captures) {
      changes.addAll(new Installer(transaction, capture).prepare());
    }
    new BoundedLock(transaction).run(changes);
  }

  /** All but the triggers. What is left to do needs the table's lock. */
  private List<TableChange> prepare() throws SQLException {
    var state = State.of(transaction, capture);
    refuse(Suitability.obstacles(transaction, capture, state));
    var watched = state.table();
    if (watched != null && new TriggerSteps(capture, state, watched).isEmpty()) {
      knowPartitions(watched);
      return List.of();
    }
    lock(transaction, capture.channel());
    state = State.of(transaction, capture);
    var table = state.table();
    if (table == null) {
      throw new PgOnceException(WatchedTable.missing(transaction, capture.table()));
    }
    refuse(obstacles(state, table));
    for (var warning : Suitability.warnings(transaction, capture, state)) {
      LOG.warn("pgonce: channel {}: {}", capture.channel(), warning);
    }
    var steps = new TriggerSteps(capture, state, table);
    if (steps.replacesFunction()) {
      var owner = Objects.requireNonNull(state.owner(), "checked before");
      Statements.execute(transaction, LET_CAPTURE, capture.channel(), owner);
      var subscriptions = Objects.requireNonNull(state.subscriptions(), "the channel is there");
      var sql = state.wanted().create(subscriptions);
      OwnerRole.during(transaction, owner, () -> execute(transaction, sql));
      // Afterwards: nobody else can create one any more.
      Statements.execute(transaction, REFUSE_ANOTHER, capture.channel(), owner);
    }
    knowPartitions(table);
    return steps.tableChanges();
  }

  // What is attached later is known from the next installation on.
  private void knowPartitions(WatchedTable table) throws SQLException {
    if (table.isPartitioned()) {
      Statements.execute(transaction, KNOW_PARTITIONS, capture.channel(), table.oid());
    }
  }

  /** What keeps the connection's role from installing, or its triggers from being safe. */
  List<String> obstacles(State state, WatchedTable table) throws SQLException {
    var obstacles = new ArrayList<>(InstallRights.obstacles(transaction, state, table));
    obstacles.addAll(Concerns.untrustedCasts(transaction, state, table));
    Stream.ofNullable(TriggerDrift.obstacle(capture.channel(), state)).forEach(obstacles::add);
    return obstacles;
  }

  /** Until the transaction ends, nobody else changes triggers of pgonce. */
  static void lock(Connection transaction, String channel) throws SQLException {
    try {
      Statements.execute(transaction, LOCK);
    } catch (SQLException e) {
      if (!LockSettings.isLockTimeout(e)) {
        throw e;
      }
      throw new PgOnceException(
          "pgonce cannot change the triggers of channel %s, nothing was changed: another installation in this database has not ended within lock_timeout; try again"
              .formatted(channel),
          e);
    }
  }

  /** Runs statements that are not prepared: a question mark in them is one. */
  static void execute(Connection transaction, String sql) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(sql);
    }
  }

  private void refuse(List<String> obstacles) {
    if (!obstacles.isEmpty()) {
      throw new PgOnceException(
          "pgonce cannot install channel %s, nothing was changed:\n- %s"
              .formatted(capture.channel(), String.join("\n- ", obstacles)));
    }
  }
}
