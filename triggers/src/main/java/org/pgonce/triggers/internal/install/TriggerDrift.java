package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;

/** In what one of a channel's triggers differs from its definition. */
final class TriggerDrift {

  private final CaptureTrigger wanted;
  private final State state;

  TriggerDrift(CaptureTrigger wanted, State state) {
    this.wanted = wanted;
    this.state = state;
  }

  /** Whether creating it again makes it as defined. A disabled one was disabled by someone. */
  boolean isToBeReplaced() {
    return state.triggersOnTable(wanted).stream().noneMatch(this::isAsWanted);
  }

  /**
   * Whether it must be dropped before it is created: a constraint trigger cannot be replaced, nor
   * replace another.
   */
  boolean isToBeDroppedFirst() {
    var deferred = wanted.form() == TriggerForm.DEFERRED;
    return deferred
        || state.triggersOnTable(wanted).stream()
            .anyMatch(there -> there.shape() != null && there.shape().deferred());
  }

  private boolean isAsWanted(InstalledTrigger trigger) {
    return wanted.shape().equals(trigger.shape());
  }

  /** Why a channel's triggers cannot be created; null if they can. */
  static @Nullable String obstacle(String channel, State state) {
    return state.triggersElsewhere().stream()
        .findFirst()
        .map(
            other ->
                "channel %s is fed by table %s: drop that trigger first (%s), or give one of the two channels another name"
                    .formatted(channel, other.table(), drop(other)))
        .orElse(null);
  }

  /** One line per trigger of the channel that is on another table. */
  static List<String> elsewhere(State state, TableName table) {
    return state.triggersElsewhere().stream()
        .map(
            other ->
                "table %s feeds this channel too, which is defined on table %s: %s"
                    .formatted(other.table(), table, drop(other)))
        .toList();
  }

  /** One line per difference. */
  List<String> problems(TableName table) {
    var problems = new ArrayList<String>();
    var here = state.triggersOnTable(wanted);
    if (here.isEmpty()) {
      problems.add(
          "trigger %s on table %s is missing, so %s make no notifications: install the channel again"
              .formatted(Quoted.identifier(wanted.bareName()), table, its()));
    }
    for (var trigger : here) {
      if (!isAsWanted(trigger)) {
        problems.add(
            "trigger %s on table %s was made from another definition: install the channel again"
                .formatted(Quoted.identifier(trigger.name()), table));
      }
      problems.addAll(firing(trigger));
    }
    if (here.size() > 1) {
      problems.add(
          "table %s has %d triggers for this channel, so each of %s makes as many notifications: %s"
              .formatted(table, here.size(), its(), drop(here.get(1))));
    }
    return problems;
  }

  private String its() {
    return switch (wanted.event()) {
      case INSERT -> "its new rows";
      case UPDATE -> "its updated rows";
      case DELETE -> "its deleted rows";
      case TRUNCATE -> "its TRUNCATEs";
    };
  }

  private List<String> firing(InstalledTrigger trigger) {
    var problems = new ArrayList<String>();
    var enable =
        "ALTER TABLE %s ENABLE TRIGGER %s"
            .formatted(Quoted.table(trigger.table()), Quoted.identifier(trigger.name()));
    switch (trigger.firing()) {
      case "D" ->
          problems.add(
              "trigger %s on table %s is disabled, so %s make no notifications: %s"
                  .formatted(Quoted.identifier(trigger.name()), trigger.table(), its(), enable));
      case "R" ->
          problems.add(
              "trigger %s on table %s fires for replicated rows only: %s"
                  .formatted(Quoted.identifier(trigger.name()), trigger.table(), enable));
      default -> {
        // As it is created, or for all rows, replicated ones too.
      }
    }
    for (var partition : trigger.disabledCopies()) {
      problems.add(
          "trigger %s was enabled or disabled on partition %s otherwise than on its parent: ALTER TABLE %s %s TRIGGER %s"
              .formatted(
                  Quoted.identifier(trigger.name()),
                  partition,
                  partition,
                  trigger.firing().equals("D") ? "DISABLE" : "ENABLE",
                  Quoted.identifier(trigger.name())));
    }
    return problems;
  }

  private static String drop(InstalledTrigger trigger) {
    return "DROP TRIGGER %s ON %s"
        .formatted(Quoted.identifier(trigger.name()), Quoted.table(trigger.table()));
  }
}
