package org.pgonce.benchmarks.forms;

import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TriggerChannel;
import org.pgonce.triggers.TriggerForm;

/**
 * A way to hear of written rows, on a table of its own.
 *
 * @param label for people
 * @param form of its trigger; null if it has none
 * @param table which has that trigger and no other
 * @param channel that pgonce installs; null for those without pgonce
 */
record Kind(
    String label, @Nullable TriggerForm form, String table, @Nullable TriggerChannel<?> channel) {

  static Kind none(String table) {
    return new Kind("no trigger", null, table, null);
  }

  /** The table's trigger is made by {@code by-hand.sql}. */
  static Kind byHand(String label, TriggerForm form, String table) {
    return new Kind("by hand, " + label, form, table, null);
  }

  static Kind pgonce(String label, TriggerForm form, TriggerChannel<?> channel) {
    return new Kind("pgonce, " + label, form, channel.table().table(), channel);
  }

  boolean hasNoTrigger() {
    return form == null;
  }

  boolean isByHand() {
    return form != null && channel == null;
  }

  /** Whether that one, by hand, is the limit for this one. No one writes a deferred one by hand. */
  boolean isLimitedBy(Kind other) {
    return other.isByHand() && perRow() == other.perRow();
  }

  private boolean perRow() {
    return form != TriggerForm.STATEMENT;
  }
}
