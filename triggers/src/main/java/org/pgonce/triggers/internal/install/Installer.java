package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.PgOnceException;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes functions and triggers as defined, in the caller's transaction. */
public final class Installer {

  private static final Logger LOG = LoggerFactory.getLogger(Installer.class);

  // Two that create the same function at once: the second fails with «tuple concurrently updated».
  private static final String LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(" + lockKey() + ")";

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
    var state = State.of(transaction, capture);
    refuse(Suitability.obstacles(transaction, capture, state));
    if (isDone(state)) {
      return;
    }
    lock();
    state = State.of(transaction, capture);
    var table = state.table();
    if (table == null) {
      throw new PgOnceException(WatchedTable.missing(transaction, capture.table()));
    }
    refuse(obstacles(state, table));
    for (var outdated : state.outdated()) {
      drop(outdated.name(), state);
    }
    for (var trigger : state.wanted()) {
      install(trigger, state, table);
    }
    for (var warning : Suitability.warnings(state)) {
      LOG.warn("pgonce: channel {}: {}", capture.channel(), warning);
    }
  }

  private void install(CaptureTrigger trigger, State state, WatchedTable table)
      throws SQLException {
    if (new FunctionDrift(trigger, state).isToBeReplaced()) {
      OwnerRole.during(transaction, () -> createFunction(trigger));
    }
    var drift = new TriggerDrift(trigger, state);
    if (drift.isToBeReplaced()) {
      var dropsFirst = drift.isToBeDroppedFirst();
      var create = trigger.create(table.name());
      if (dropsFirst && trigger.form() != TriggerForm.DEFERRED) {
        create = trigger.drop(table.name()) + create;
      }
      new BoundedLock(transaction)
          .run(
              create,
              "create the trigger of channel " + capture.channel(),
              new BoundedLock.Target(table.oid(), table.name().toString()),
              dropsFirst);
    }
  }

  /**
   * Drops the functions, and with them every trigger that runs one. Does nothing if there is none.
   */
  public void drop() throws SQLException {
    var state = State.of(transaction, capture);
    if (!state.installed().isEmpty()) {
      lock();
    }
    for (var function : state.installed().keySet()) {
      drop(function.name(), state);
    }
  }

  private void drop(String function, State state) throws SQLException {
    var target =
        state.installed().entrySet().stream()
            .filter(entry -> entry.getKey().name().equals(function))
            .flatMap(entry -> entry.getValue().stream())
            .findFirst()
            .map(BoundedLock.Target::of)
            .orElse(new BoundedLock.Target(0, capture.table().toString()));
    OwnerRole.during(
        transaction,
        () ->
            new BoundedLock(transaction)
                .run(
                    CaptureFunction.drop(function),
                    "drop a trigger of channel " + capture.channel(),
                    target,
                    true));
  }

  List<String> obstacles(State state, WatchedTable table) throws SQLException {
    var obstacles = new ArrayList<>(InstallRights.obstacles(transaction, table));
    for (var trigger : state.wanted()) {
      obstacles.addAll(new FunctionDrift(trigger, state).obstacles());
    }
    var elsewhere = TriggerDrift.obstacle(capture.channel(), state);
    if (elsewhere != null) {
      obstacles.add(elsewhere);
    }
    return obstacles;
  }

  private void lock() throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(LOCK);
    } catch (SQLException e) {
      if (!BoundedLock.LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
        throw e;
      }
      throw new PgOnceException(
          "pgonce cannot install channel %s, nothing was changed: another installation in this database has not ended within lock_timeout; try again"
              .formatted(capture.channel()),
          e);
    }
  }

  private static boolean isDone(State state) {
    return state.outdated().isEmpty()
        && state.wanted().stream()
            .noneMatch(
                trigger ->
                    new FunctionDrift(trigger, state).isToBeReplaced()
                        || new TriggerDrift(trigger, state).isToBeReplaced());
  }

  private void createFunction(CaptureTrigger trigger) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(new CaptureFunction(trigger).create());
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
