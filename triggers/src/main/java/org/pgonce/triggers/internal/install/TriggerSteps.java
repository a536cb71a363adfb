package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.catalog.InstalledFunction;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.catalog.TableForm;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;
import org.pgonce.triggers.internal.definition.TriggerLookup;

/**
 * What is to be done so that functions and triggers are as defined: the one source of what is
 * applied and what is printed.
 */
final class TriggerSteps {

  private final Capture capture;
  private final State state;
  private final WatchedTable table;

  TriggerSteps(Capture capture, State state, WatchedTable table) {
    this.capture = capture;
    this.state = state;
    this.table = table;
  }

  /** Where nothing is installed, on an ordinary table. */
  static TriggerSteps fromNothing(Capture capture) {
    var table =
        new WatchedTable(0, capture.table(), new TableForm("r", "p", false, false, false, ""));
    return new TriggerSteps(capture, new State(table, capture.triggers(false), Map.of()), table);
  }

  /** Functions to be created or replaced as pgonce_owner: no table is locked. */
  List<CaptureFunction> functions() {
    return state.wanted().stream()
        .filter(trigger -> new FunctionDrift(trigger, state).isToBeReplaced())
        .map(CaptureFunction::new)
        .toList();
  }

  /**
   * What needs the lock of a table, the strongest first: a stronger one later would be waited for
   * as well.
   */
  List<TableChange> tableChanges() {
    var changes = new ArrayList<TableChange>();
    for (var outdated : state.outdated()) {
      changes.add(
          dropping(
              capture.channel(),
              outdated,
              state.installed().getOrDefault(outdated, List.of()),
              table.name().toString()));
    }
    for (var trigger : state.wanted()) {
      var drift = new TriggerDrift(trigger, state);
      drift.surplus().forEach(other -> changes.add(dropping(other)));
      if (drift.isToBeReplaced()) {
        changes.add(creating(trigger));
      }
    }
    changes.sort(Comparator.comparing(change -> !change.exclusive()));
    return changes;
  }

  boolean isEmpty() {
    return functions().isEmpty() && tableChanges().isEmpty();
  }

  /**
   * All of it as SQL. What creates functions has its path pinned; the rest names what is pgonce's
   * in full, and finds a table without a schema where the session looks for it.
   */
  String sql() {
    var functions = functions().stream().map(CaptureFunction::create).collect(Collectors.joining());
    return rights() + OwnerRole.script(functions) + sql(tableChanges()) + partitions();
  }

  /** What must be given where nothing is known of the database: by whom, only its owner knows. */
  private String rights() {
    var schema = table.name().schema();
    return table.oid() != 0
            || schema == null
            || state.wanted().stream().noneMatch(trigger -> trigger.looksUp(table.name()))
        ? ""
        : "-- It needs: GRANT USAGE ON SCHEMA %s TO %s\n"
            .formatted(Quoted.identifier(schema), FunctionDrift.OWNER);
  }

  /** With the bound that keeps writers from queueing behind a wait. */
  static String sql(List<TableChange> changes) {
    if (changes.isEmpty()) {
      return "";
    }
    return changes.stream()
        .map(
            change ->
                change.asOwner()
                    ? "SET ROLE pgonce_owner;\n" + change.sql() + "RESET ROLE;\n"
                    : change.sql())
        .collect(
            Collectors.joining(
                "",
                "SET lock_timeout = '%d ms';\n".formatted(BoundedLock.LONGEST_WAIT_MS),
                "RESET lock_timeout;\n"));
  }

  /**
   * Of a table of which it is not known, or which has some, that they are known when one is
   * detached.
   */
  private String partitions() {
    return table.oid() != 0 && !table.form().kind().equals("p")
        ? ""
        : "SELECT pgonce.know_partitions(%s, CAST(%s AS pg_catalog.regclass));\n"
            .formatted(
                Quoted.literal(capture.channel()), Quoted.literal(Quoted.table(table.name())));
  }

  private TableChange creating(CaptureTrigger trigger) {
    var dropsFirst = new TriggerDrift(trigger, state).isToBeDroppedFirst();
    var create = trigger.create(table.name());
    if (dropsFirst && trigger.form() != TriggerForm.DEFERRED) {
      create = trigger.drop(table.name()) + create;
    }
    return new TableChange(
        trigger.lookup(table.name()).unlessThere(create),
        "create the trigger of channel " + capture.channel(),
        new TableChange.Target(table.oid(), table.name().toString()),
        false,
        dropsFirst,
        table.form().hasChildren());
  }

  private TableChange dropping(InstalledTrigger trigger) {
    return new TableChange(
        TriggerLookup.of(trigger.table(), trigger.name())
            .ifThere(TriggerDrift.drop(trigger) + ";\n"),
        "drop a trigger of channel " + capture.channel(),
        TableChange.Target.of(trigger),
        false,
        true,
        table.form().hasChildren());
  }

  /**
   * A function, and with it every trigger that runs it.
   *
   * @param table to be named where there is no trigger
   */
  static TableChange dropping(
      String channel, InstalledFunction function, List<InstalledTrigger> triggers, String table) {
    var target =
        triggers.stream()
            .findFirst()
            .map(TableChange.Target::of)
            .orElse(new TableChange.Target(0, table));
    return new TableChange(
        CaptureFunction.drop(function.name()),
        "drop a trigger of channel " + channel,
        target,
        true,
        true,
        triggers.stream().map(InstalledTrigger::tableOid).distinct().count() > 1);
  }
}
