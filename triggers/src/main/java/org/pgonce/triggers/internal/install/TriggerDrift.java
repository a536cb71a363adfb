package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;

/** In what a channel's trigger differs from its definition. */
final class TriggerDrift {

  private final Capture capture;
  private final State state;

  TriggerDrift(Capture capture, State state) {
    this.capture = capture;
    this.state = state;
  }

  /** Whether creating it again makes it as defined. A disabled one was disabled by someone. */
  boolean isToBeReplaced() {
    return state.triggersOnTable().stream().noneMatch(InstalledTrigger::statementInsert);
  }

  /** Why it cannot be created; null if it can. */
  @Nullable String obstacle() {
    return state.triggersElsewhere().stream()
        .findFirst()
        .map(
            other ->
                "channel %s is fed by table %s: drop that trigger first (%s), or give one of the two channels another name"
                    .formatted(capture.channel(), other.table(), drop(other)))
        .orElse(null);
  }

  /** One line per difference. */
  List<String> problems(TableName table) {
    var problems = new ArrayList<String>();
    var here = state.triggersOnTable();
    if (here.isEmpty()) {
      problems.add(
          "trigger %s on table %s is missing, so its new rows make no notifications: install the channel again"
              .formatted(Quoted.identifier(CaptureTrigger.bareName(capture)), table));
    }
    for (var trigger : here) {
      if (!trigger.statementInsert()) {
        problems.add(
            "trigger %s on table %s was made from another definition: install the channel again"
                .formatted(Quoted.identifier(trigger.name()), table));
      }
      problems.addAll(firing(trigger));
    }
    if (here.size() > 1) {
      problems.add(
          "table %s has %d triggers for this channel, so each new row makes as many notifications: %s"
              .formatted(table, here.size(), drop(here.get(1))));
    }
    for (var other : state.triggersElsewhere()) {
      problems.add(
          "table %s feeds this channel too, which is defined on table %s: %s"
              .formatted(other.table(), table, drop(other)));
    }
    return problems;
  }

  private static List<String> firing(InstalledTrigger trigger) {
    var enable =
        "ALTER TABLE %s ENABLE TRIGGER %s"
            .formatted(Quoted.table(trigger.table()), Quoted.identifier(trigger.name()));
    return switch (trigger.firing()) {
      case "D" ->
          List.of(
              "trigger %s on table %s is disabled, so its new rows make no notifications: %s"
                  .formatted(Quoted.identifier(trigger.name()), trigger.table(), enable));
      case "R" ->
          List.of(
              "trigger %s on table %s fires for replicated rows only: %s"
                  .formatted(Quoted.identifier(trigger.name()), trigger.table(), enable));
      default -> List.of();
    };
  }

  private static String drop(InstalledTrigger trigger) {
    return "DROP TRIGGER %s ON %s"
        .formatted(Quoted.identifier(trigger.name()), Quoted.table(trigger.table()));
  }
}
