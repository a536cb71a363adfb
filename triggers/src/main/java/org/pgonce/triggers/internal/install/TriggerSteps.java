package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;
import org.pgonce.triggers.internal.definition.TriggerLookup;

/**
 * What is to be done so that function and triggers are as defined: the one source of what is
 * planned, applied and printed.
 */
final class TriggerSteps {

  private final Capture capture;
  private final State state;
  private final WatchedTable table;
  private final FunctionDrift drift;

  TriggerSteps(Capture capture, State state, WatchedTable table) {
    this.capture = capture;
    this.state = state;
    this.table = table;
    this.drift = new FunctionDrift(state);
  }

  /** Where nothing is installed, on an ordinary table. */
  static TriggerSteps fromNothing(Capture capture) {
    var table = WatchedTable.unknown(capture.table());
    return new TriggerSteps(
        capture, new State(table, capture.function(table), null, List.of(), null, null), table);
  }

  /** Whether the function is to be created or replaced: no table is locked for it. */
  boolean replacesFunction() {
    return drift.isToBeReplaced();
  }

  /** That as a line of a plan. */
  String functionSummary() {
    return "%s function %s"
        .formatted(state.function() == null ? "create" : "replace", state.wanted().name());
  }

  /** What the function's text is to become, as lines of a diff. */
  List<String> functionDiff() {
    return drift.diff();
  }

  /**
   * What needs the lock of the table, the strongest first: a stronger one later would be waited for
   * as well.
   */
  List<TableChange> tableChanges() {
    var changes = new ArrayList<TableChange>();
    TriggerDrift.surplus(state).forEach(trigger -> changes.add(dropping(trigger)));
    for (var trigger : state.wanted().triggers()) {
      var triggerDrift = new TriggerDrift(trigger, state);
      if (triggerDrift.isToBeReplaced()) {
        changes.add(creating(trigger, triggerDrift));
      }
    }
    changes.sort(Comparator.comparing(change -> !change.exclusive()));
    return changes;
  }

  boolean isEmpty() {
    return !replacesFunction() && tableChanges().isEmpty();
  }

  /**
   * What needs no lock of a table, as SQL; empty if nothing is to be done. What creates the
   * function has its path pinned; the rest names what is pgonce's in full, and finds a table
   * without a schema where the session looks for it.
   */
  String functionScript(int lockMs) {
    return isEmpty()
        ? ""
        : Installer.lockScript(capture.channel(), lockMs)
            + (replacesFunction() ? function() : "")
            + partitions();
  }

  /** The rest. */
  String tableScript(int waitMs) {
    return boundedScript(
        tableChanges().stream().map(TableChange::sql).collect(Collectors.joining()), waitMs);
  }

  private String function() {
    var channel = Quoted.literal(capture.channel());
    return OwnerRole.lookUp(table.name())
        + OwnerRole.script(
            CaptureFunction.lookUp(capture.channel(), table)
                + "SELECT pgonce.let_capture(%s, %s);\n".formatted(channel, OwnerRole.LOOKED_UP)
                + OwnerRole.asLookedUp(state.wanted().createLater())
                + "SELECT pgonce.refuse_function_of_another(%s, %s);\n"
                    .formatted(channel, OwnerRole.LOOKED_UP));
  }

  /** To print, with a bound: no writers shall queue behind a wait. Empty if there are none. */
  static String boundedScript(CharSequence statements, int waitMs) {
    return statements.isEmpty()
        ? ""
        : "SET lock_timeout = '%s ms';\n%sRESET lock_timeout;\n".formatted(waitMs, statements);
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
        new TableChange.Description(
            "create the trigger of channel " + capture.channel(), summary, diff),
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
            trigger.table(),
            trigger.name(),
            "",
            CaptureTrigger.lockBeforeDrop(trigger.isPartitioned(), trigger.table())
                + TriggerDrift.drop(trigger)
                + ";\n"),
        new TableChange.Description(
            "drop a trigger of channel " + capture.channel(),
            summary,
            LineDiff.between(lines(trigger.definition()), List.of())),
        TableChange.Target.of(trigger),
        false,
        true,
        table.form().hasChildren());
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
