package org.pgonce.triggers.internal.install;

import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;

/**
 * A trigger whose form fits the table as it was when the channel was installed, and not as it is.
 * PostgreSQL (14 to 18) attaches a table that has triggers per statement, with transition tables
 * too, and lets it inherit; such a trigger fires for statements that name its own table, and for no
 * others.
 */
final class FormDrift {

  private FormDrift() {}

  /** What became of the table, and what to do; null if nothing did. */
  static @Nullable String problem(CaptureTrigger wanted, State state, WatchedTable table) {
    var installed = state.function(wanted);
    if (installed == null || wanted.capture().watch().form() != null) {
      return null;
    }
    var perRow = wanted.form() == TriggerForm.ROW;
    var former =
        new CaptureTrigger(
            wanted.capture(), wanted.event(), perRow ? TriggerForm.STATEMENT : TriggerForm.ROW);
    if (!installed.comment().equals(new CaptureFunction(former).comment())) {
      return null;
    }
    return perRow
        ? "%s since its trigger for %s was made, which fires once for a statement that names %s and for no other: install the channel again, which makes the trigger per row"
            .formatted(table.form().relations(table.name()), wanted.event(), table.name())
        : "table %s has become a table by itself since its trigger for %s was made per row: install the channel again, which makes the trigger per statement"
            .formatted(table.name(), wanted.event());
  }
}
