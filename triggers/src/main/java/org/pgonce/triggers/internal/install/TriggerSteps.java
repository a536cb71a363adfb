package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;
import org.pgonce.triggers.internal.definition.TriggerLookup;

/**
 * What is to be done so that functions and triggers are as defined: the one source of what is
 * planned, applied and printed.
 */
final class TriggerSteps {

  private static final String CAPTURING_ROLE =
      "pg_catalog.current_setting('pgonce.capturing_role')";

  private final Capture capture;
  private final State state;
  private final WatchedTable table;
  private final Map<CaptureTrigger, FunctionDrift> replaced = new LinkedHashMap<>();

  TriggerSteps(Capture capture, State state, WatchedTable table) {
    this.capture = capture;
    this.state = state;
    this.table = table;
    for (var trigger : state.wanted()) {
      var drift = new FunctionDrift(trigger, state);
      if (drift.isToBeReplaced()) {
        replaced.put(trigger, drift);
      }
    }
  }

  /** Where nothing is installed, on an ordinary table. */
  static TriggerSteps fromNothing(Capture capture) {
    var table = WatchedTable.unknown(capture.table());
    return new TriggerSteps(
        capture, new State(table, capture.triggers(table), Map.of(), null, null), table);
  }

  /** Functions to be created or replaced as who they are to belong to: no table is locked. */
  List<CaptureFunction> functions() {
    return replaced.keySet().stream().map(CaptureFunction::new).toList();
  }

  /** What a function's text is to become, as lines of a diff, by what is to be done. */
  Map<String, List<String>> functionDiffs() {
    var diffs = new LinkedHashMap<String, List<String>>();
    replaced.forEach(
        (trigger, drift) ->
            diffs.put(
                "%s function %s"
                    .formatted(
                        state.function(trigger) == null ? "create" : "replace",
                        new CaptureFunction(trigger).name()),
                drift.diff()));
    return diffs;
  }

  /**
   * What needs the lock of a table, the strongest first: a stronger one later would be waited for
   * as well.
   */
  List<TableChange> tableChanges() {
    var changes = new ArrayList<>(droppedFunctions());
    changes.addAll(triggerChanges());
    changes.sort(Comparator.comparing(change -> !change.exclusive()));
    return changes;
  }

  /** Functions of an earlier definition, with their triggers. */
  List<TableChange> droppedFunctions() {
    return state.outdated().stream()
        .map(outdated -> dropping(capture.channel(), outdated, state.triggersOf(outdated)))
        .toList();
  }

  List<TableChange> triggerChanges() {
    var changes = new ArrayList<TableChange>();
    for (var trigger : state.wanted()) {
      var drift = new TriggerDrift(trigger, state);
      drift.surplus().forEach(other -> changes.add(dropping(other)));
      if (drift.isToBeReplaced()) {
        changes.add(creating(trigger, drift));
      }
    }
    return changes;
  }

  boolean isEmpty() {
    return replaced.isEmpty() && tableChanges().isEmpty();
  }

  /**
   * All of it as SQL. What creates functions has its path pinned; the rest names what is pgonce's
   * in full, and finds a table without a schema where the session looks for it.
   */
  String migration() {
    if (isEmpty()) {
      return "";
    }
    var functions =
        functions().stream().map(CaptureFunction::createLater).collect(Collectors.joining());
    return Installer.lockScript(capture.channel())
        + (functions.isEmpty() || state.owner() != null ? "" : lookUpOwner())
        + OwnerRole.script(functions.isEmpty() ? "" : asOwner(functions))
        + sql(tableChanges())
        + partitions();
  }

  /** As who they are to belong to; where that is not known, it is looked up then. */
  private String asOwner(String functions) {
    var owner = state.owner();
    var channel = Quoted.literal(capture.channel());
    var role = owner == null ? CAPTURING_ROLE : Quoted.literal(owner);
    var setRole =
        owner == null
            ? "SELECT pg_catalog.set_config('role', %s, false)".formatted(role)
            : "SET ROLE " + Quoted.identifier(owner);
    return CaptureFunction.lookUp(capture.channel(), table)
        + "SELECT pgonce.let_capture(%s, %s);\n".formatted(channel, role)
        + "%s;\n%sRESET ROLE;\n".formatted(setRole, functions)
        + "SELECT pgonce.refuse_functions_of_others(%s, %s, %s);\n"
            .formatted(channel, Quoted.array(state.names()), role);
  }

  // Before the path is pinned, by which the table may be found.
  private String lookUpOwner() {
    return "SELECT pg_catalog.set_config('pgonce.capturing_role', pgonce.capturing_role(CAST(%s AS pg_catalog.regclass)), false);\n"
        .formatted(Quoted.literal(Quoted.table(table.name())));
  }

  /** With the bound that keeps writers from queueing behind a wait. */
  private static String sql(List<TableChange> changes) {
    return boundedScript(
        changes.stream()
            .map(
                change -> change.asOwner() ? OwnerRole.asOwnerOfSchema(change.sql()) : change.sql())
            .collect(Collectors.joining()),
        BoundedLock.LONGEST_WAIT_MS);
  }

  /** Statements that lock tables, to be printed; empty if there are none. */
  static String boundedScript(CharSequence statements, int waitMs) {
    return statements.isEmpty()
        ? ""
        : "SET lock_timeout = '%d ms';\n%sRESET lock_timeout;\n".formatted(waitMs, statements);
  }

  /**
   * Of a table of which it is not known, or which has some, that they are known when one is
   * detached.
   */
  private String partitions() {
    return table.isKnown() && !table.isPartitioned()
        ? ""
        : "SELECT pgonce.know_partitions(%s, CAST(%s AS pg_catalog.regclass));\n"
            .formatted(
                Quoted.literal(capture.channel()), Quoted.literal(Quoted.table(table.name())));
  }

  private TableChange creating(CaptureTrigger trigger, TriggerDrift drift) {
    var name = table.name();
    var create = trigger.create(name);
    var before = drift.replaced();
    var diff =
        before == null
            ? LineDiff.between(List.of(), create.lines().toList())
            : LineDiff.between(
                lines(before.definition()), lines(create.replace("OR REPLACE ", "")));
    var summary =
        "%s trigger %s on %s, which locks the table against writers for a moment"
            .formatted(
                before == null ? "create" : "replace", Quoted.identifier(trigger.bareName()), name);
    var dropsFirst = drift.isToBeDroppedFirst();
    if (dropsFirst && !trigger.isConstraint()) {
      create = trigger.drop(name) + create;
    }
    return new TableChange(
        TriggerLookup.unlessThere(name, trigger.bareName(), trigger.printedForm(), "", create),
        new TableChange.Told("create the trigger of channel " + capture.channel(), summary, diff),
        new TableChange.Target(table.oid(), name.toString()),
        false,
        dropsFirst,
        table.form().hasChildren());
  }

  private TableChange dropping(InstalledTrigger trigger) {
    var summary =
        "drop trigger %s on %s, which runs the same function, and locks the table for a moment"
            .formatted(Quoted.identifier(trigger.name()), table.name());
    return new TableChange(
        TriggerLookup.ifThere(
            trigger.table(), trigger.name(), "", TriggerDrift.drop(trigger) + ";\n"),
        new TableChange.Told(
            "drop a trigger of channel " + capture.channel(),
            summary,
            LineDiff.between(lines(trigger.definition()), List.of())),
        TableChange.Target.of(trigger),
        false,
        true,
        table.form().hasChildren());
  }

  /** A function, and with it every trigger that runs it. */
  static TableChange dropping(
      String channel, InstalledFunction function, List<InstalledTrigger> triggers) {
    var target =
        triggers.stream()
            .findFirst()
            .map(TableChange.Target::of)
            .orElse(new TableChange.Target(0, "none"));
    var gone = new ArrayList<String>();
    triggers.forEach(trigger -> gone.addAll(lines(trigger.definition())));
    gone.add(function.comment());
    var summary =
        "drop function %s and its trigger, which locks the table for a moment"
            .formatted(function.sqlName());
    return new TableChange(
        CaptureFunction.drop(function.sqlName()),
        new TableChange.Told(
            "drop a trigger of channel " + channel, summary, LineDiff.between(gone, List.of())),
        target,
        true,
        true,
        triggers.stream().map(InstalledTrigger::tableOid).distinct().count() > 1);
  }

  /** A trigger's definition, for a diff: without the quotes, which PostgreSQL sets as it likes. */
  private static List<String> lines(String definition) {
    return definition
        .replaceAll("[\";]", "")
        .replaceAll(" (?=(REFERENCING|DEFERRABLE|FOR EACH|EXECUTE) )", "\n")
        .lines()
        .map(String::strip)
        .toList();
  }
}
