package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.PgOnceException;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes functions and triggers as defined, in the caller's transaction. */
public final class Installer {

  private static final Logger LOG = LoggerFactory.getLogger(Installer.class);

  // Two that create the same function at once: the second fails with «tuple concurrently updated».
  private static final String LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(" + lockKey() + ")";

  private static final String KNOW_PARTITIONS =
      "SELECT pgonce.know_partitions(?, CAST(CAST(? AS bigint) AS oid))";

  private final Connection transaction;
  private final Capture capture;

  public Installer(Connection transaction, Capture capture) {
    this.transaction = transaction;
    this.capture = capture;
  }

  /** One for all channels of a database: "pgonce" in ASCII, and 1. */
  public static long lockKey() {
    return 123589553447782L;
  }

  /**
   * Does what is to be done, and nothing if nothing is: then no lock is taken.
   *
   * @throws PgOnceException if table and definition do not go together, or rights are missing, or
   *     the table is locked by others
   */
  public void install() throws SQLException {
    new BoundedLock(transaction).run(prepare());
  }

  /**
   * The same for several channels, as a whole: what needs no lock of a table first, then all their
   * triggers together.
   */
  public static void installAll(Connection transaction, List<Capture> captures)
      throws SQLException {
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
    lock();
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
    for (var function : steps.functions()) {
      OwnerRole.during(transaction, () -> create(function));
    }
    knowPartitions(table);
    return steps.tableChanges();
  }

  // What is attached later is known from the next installation on.
  private void knowPartitions(WatchedTable table) throws SQLException {
    if (!table.form().kind().equals("p")) {
      return;
    }
    try (var statement = transaction.prepareStatement(KNOW_PARTITIONS)) {
      statement.setString(1, capture.channel());
      statement.setLong(2, table.oid());
      statement.execute();
    }
  }

  /**
   * Drops the functions, and with them every trigger that runs one. Does nothing if there is none.
   */
  public void drop() throws SQLException {
    new BoundedLock(transaction).run(dropping());
  }

  /** The same for several channels, and the channels with them, as a whole. */
  public static void dropAll(Connection transaction, List<Capture> captures) throws SQLException {
    var channels = captures.stream().map(Capture::channel).toList();
    var emptied = ChannelDrop.empty(transaction, channels);
    var changes = new ArrayList<TableChange>();
    for (var capture : captures) {
      changes.addAll(new Installer(transaction, capture).dropping());
    }
    if (emptied != null) {
      changes.add(ChannelDrop.of(transaction, channels, emptied));
    }
    new BoundedLock(transaction).run(changes);
  }

  /** Channels whose triggers are gone, with the tries and pauses of the database's function. */
  public static void dropChannels(Connection transaction, List<String> channels)
      throws SQLException {
    ChannelDrop.run(transaction, channels);
  }

  private List<TableChange> dropping() throws SQLException {
    if (State.of(transaction, capture).installed().isEmpty()) {
      return List.of();
    }
    lock();
    var state = State.of(transaction, capture);
    return state.installed().entrySet().stream()
        .map(
            one ->
                TriggerSteps.dropping(
                    capture.channel(), one.getKey(), one.getValue(), capture.table().toString()))
        .toList();
  }

  List<String> obstacles(State state, WatchedTable table) throws SQLException {
    var obstacles = new ArrayList<>(InstallRights.obstacles(transaction, state, table));
    obstacles.addAll(UntrustedCasts.of(transaction, table));
    for (var trigger : state.wanted()) {
      obstacles.addAll(new FunctionDrift(trigger, state).obstacles());
    }
    obstacles.addAll(InstallRights.atWork(transaction, state, table));
    var elsewhere = TriggerDrift.obstacle(capture.channel(), state);
    if (elsewhere != null) {
      obstacles.add(elsewhere);
    }
    return obstacles;
  }

  private void lock() throws SQLException {
    lock(transaction, capture.channel());
  }

  /** Until the transaction ends, nobody else changes triggers of pgonce. */
  static void lock(Connection transaction, String channel) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(LOCK);
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

  private void create(CaptureFunction function) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(function.create());
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
