package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.TableName;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.definition.Quoted;

/** In what one of a channel's triggers differs from its definition. */
final class TriggerDrift {

  private static final String MADE_OTHERWISE =
      "trigger %s on table %s was made from another definition: install the channel again, unless this is the earlier of two releases that run side by side";

  private final CaptureTrigger wanted;
  private final List<InstalledTrigger> onTable;
  private final List<InstalledTrigger> there;
  private final @Nullable InstalledTrigger kept;

  TriggerDrift(CaptureTrigger wanted, State state) {
    this.wanted = wanted;
    this.onTable = state.triggersOnTable();
    this.there = state.triggersOnTable(wanted);
    // One that fires rather than not, and by its own name rather than not.
    this.kept =
        there.stream()
            .filter(this::isAsWanted)
            .min(
                Comparator.<InstalledTrigger, Boolean>comparing(trigger -> !trigger.isFiring())
                    .thenComparing(trigger -> !hasItsName(trigger)))
            .orElse(null);
  }

  /** Whether creating it again makes it as defined. A disabled one was disabled by someone. */
  boolean isToBeReplaced() {
    return kept == null;
  }

  /** What creating it replaces, whatever that fires after. */
  @Nullable InstalledTrigger replaced() {
    return isToBeReplaced()
        ? onTable.stream().filter(this::hasItsName).findFirst().orElse(null)
        : null;
  }

  /**
   * What else on the table runs the function, as a trigger of an event that is no longer captured,
   * or one that was renamed by hand: that stores every row once more, or fails every write, where
   * the function reads transition tables that it has not.
   */
  static List<InstalledTrigger> surplus(State state) {
    var stay = new ArrayList<@Nullable InstalledTrigger>();
    for (var wanted : state.wanted().triggers()) {
      var drift = new TriggerDrift(wanted, state);
      stay.add(drift.isToBeReplaced() ? drift.replaced() : drift.kept);
    }
    return state.triggersOnTable().stream().filter(trigger -> !stay.contains(trigger)).toList();
  }

  /**
   * Whether it must be dropped before it is created: a constraint trigger cannot be replaced, nor
   * replace another. Where one per statement replaces one per row, PostgreSQL (14 to 18) leaves
   * that one's copies on the partitions.
   */
  boolean isToBeDroppedFirst() {
    var replaced = replaced();
    return wanted.isConstraint()
        || (replaced != null
            && (replaced.isConstraint()
                || (wanted.table().isPartitioned()
                    && replaced.isPerRow()
                    && wanted.form() == TriggerForm.STATEMENT)));
  }

  /** All that are dropped, which only the table's owner may. */
  static List<InstalledTrigger> dropped(State state) {
    var dropped = new ArrayList<>(surplus(state));
    for (var wanted : state.wanted().triggers()) {
      var drift = new TriggerDrift(wanted, state);
      if (drift.isToBeDroppedFirst()) {
        Stream.ofNullable(drift.replaced()).forEach(dropped::add);
      }
    }
    return dropped;
  }

  private boolean hasItsName(InstalledTrigger trigger) {
    return trigger.name().equals(wanted.bareName());
  }

  private boolean isAsWanted(InstalledTrigger trigger) {
    return wanted.printedForm().equals(trigger.form());
  }

  /** Why a channel's triggers cannot be created; null if they can. */
  static @Nullable String obstacle(String channel, State state) {
    return state.triggersElsewhere().stream()
        .findFirst()
        .map(
            other ->
                "channel %s is fed by table %s: drop that trigger first (%s), or give one of the two channels another name"
                    .formatted(channel, other.table(), dropByHand(other)))
        .orElse(null);
  }

  /** One line per trigger of the channel that is on another table, or of another event. */
  static List<String> others(State state, TableName table) {
    var others = new ArrayList<String>();
    var events = state.wanted().capture().events().stream().map(Event::name).toList();
    for (var trigger : state.triggersOnTable()) {
      if (!events.contains(trigger.event())) {
        others.add(MADE_OTHERWISE.formatted(Quoted.identifier(trigger.name()), table));
      }
    }
    for (var other : state.triggersElsewhere()) {
      others.add(
          "table %s feeds this channel too, which is defined on table %s: %s"
              .formatted(other.table(), table, dropByHand(other)));
    }
    return others;
  }

  /** One line per difference. */
  List<String> problems(TableName table) {
    var problems = new ArrayList<String>();
    if (there.isEmpty()) {
      problems.add(
          "trigger %s on table %s is missing, so %s make no notifications: install the channel again"
              .formatted(Quoted.identifier(wanted.bareName()), table, its()));
    }
    for (var trigger : there) {
      if (!isAsWanted(trigger)) {
        problems.add(MADE_OTHERWISE.formatted(Quoted.identifier(trigger.name()), table));
      }
      problems.addAll(firing(trigger));
    }
    if (there.size() > 1) {
      problems.add(
          "table %s has %d triggers for this channel, so each of %s makes as many notifications: install the channel again, or %s"
              .formatted(
                  table,
                  there.size(),
                  its(),
                  there.stream()
                      .filter(trigger -> !trigger.equals(isToBeReplaced() ? replaced() : kept))
                      .map(TriggerDrift::dropByHand)
                      .collect(Collectors.joining("; "))));
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
    var name = Quoted.identifier(trigger.name());
    var enable = "ALTER TABLE %s ENABLE TRIGGER %s".formatted(Quoted.table(trigger.table()), name);
    if (trigger.firing().equals("D")) {
      problems.add(
          "trigger %s on table %s is disabled, so %s make no notifications: %s"
              .formatted(name, trigger.table(), its(), enable));
    } else if (!trigger.isFiring()) {
      problems.add(
          "trigger %s on table %s fires for replicated rows only: %s"
              .formatted(name, trigger.table(), enable));
    }
    for (var partition : trigger.disabledCopies()) {
      problems.add(
          "trigger %s was enabled or disabled on partition %s otherwise than on its parent: ALTER TABLE %s %s TRIGGER %s"
              .formatted(
                  name,
                  partition,
                  partition,
                  trigger.firing().equals("D") ? "DISABLE" : "ENABLE",
                  name));
    }
    return problems;
  }

  /** In one line, for a message. */
  static String dropByHand(InstalledTrigger trigger) {
    return byHand(trigger.isPartitioned(), trigger.table(), drop(trigger));
  }

  /** Bounded: all who use the table wait behind its lock. */
  static String byHand(boolean isPartitioned, TableName table, String drop) {
    return "BEGIN; SET LOCAL lock_timeout = '%d ms'; %s%s; COMMIT"
        .formatted(
            BoundedLock.LONGEST_TOGETHER_MS,
            CaptureTrigger.lockBeforeDrop(isPartitioned, table).replace('\n', ' '),
            drop);
  }

  static String drop(InstalledTrigger trigger) {
    return "DROP TRIGGER %s ON %s"
        .formatted(Quoted.identifier(trigger.name()), Quoted.table(trigger.table()));
  }
}
