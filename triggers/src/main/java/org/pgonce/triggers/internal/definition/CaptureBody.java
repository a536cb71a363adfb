package org.pgonce.triggers.internal.definition;

import java.util.HashMap;
import java.util.Map;
import org.pgonce.Mode;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;

/**
 * The body of a capturing function: stores its rows through the channel's own way in
 * (sql/entries.sql), and notifies unless the channel's gate is open (sql/gate.sql).
 */
final class CaptureBody {

  private final CaptureTrigger trigger;
  private final Capture.Stored stored;
  private final boolean broadcasts;

  CaptureBody(CaptureTrigger trigger) {
    this.trigger = trigger;
    this.stored = trigger.capture().stored();
    this.broadcasts = trigger.capture().mode() == Mode.BROADCAST;
  }

  /**
   * The text, with what differs between databases.
   *
   * @param subscriptions as pgonce.subscriptions_sql has them
   * @param watched the object id of the table
   */
  String text(String subscriptions, String watched) {
    var values = values(watched);
    values.put("subscriptions", subscriptions);
    var tries = stored.unstorable() == Unstorable.DEAD_LETTER && trigger.event() != Event.TRUNCATE;
    values.put("trial", tries ? Template.fill("trial.sql", values) : "");
    return Template.fill(
        broadcasts ? "broadcast.sql" : isPlain() ? "plain.sql" : "keyed.sql", values);
  }

  private boolean isPlain() {
    return !stored.byKey() && stored.keys().arePlain();
  }

  private Map<String, String> values(String watched) {
    var channel = trigger.capture().channel();
    var rows = new CapturedRows(trigger);
    var version = stored.rules().version();
    var values = new HashMap<String, String>();
    // A column of the user's may have the name of a variable.
    values.put("conflict", rows.namesColumns() ? "#variable_conflict use_column\n" : "");
    values.put("view", "pgonce." + Quoted.identifier("into_" + channel));
    values.put("store", "pgonce." + Quoted.identifier("store_" + channel));
    values.put("gate", Quoted.literal("pgonce." + Quoted.identifier("gate_" + channel)));
    values.put("wake_up", Quoted.literal("pgonce_" + channel) + ", ''");
    var from = rows.from(watched);
    values.put("rows", from.isEmpty() ? "" : from + ",\n         ");
    values.put("from", from.isEmpty() ? "" : "\n    FROM " + from);
    values.put("tried", rows.tried());
    values.put("where", rows.where());
    values.put("payload", rows.payload());
    values.put("primary_key", rows.primaryKey());
    values.put("key", rows.deliveryKey());
    values.put("order_key", rows.orderKey());
    // Two statements that take the same keys wait for one another in one order. Under an order the
    // rows keep theirs.
    var isSorted =
        trigger.form() == TriggerForm.STATEMENT
            && trigger.event() != Event.TRUNCATE
            && stored.keys().isByDeliveryAlone();
    values.put("sorted", isSorted ? "SELECT * FROM (" : "");
    values.put("place", isSorted ? ", row_number() OVER () AS place" : "");
    values.put("by_key", isSorted ? ") AS k ORDER BY k.key COLLATE \"C\", k.place" : "");
    values.put("due_at", rows.due());
    values.put("version", version == 1 ? "" : ", version => " + version);
    values.put("stamp_column", version == 1 ? "" : ", stamp");
    // Beside the depth, which is the column's default. Looked up once per statement.
    values.put(
        "stamp",
        version == 1
            ? ""
            : ", (SELECT coalesce(pgonce.current_depth(), 0) + %d)"
                .formatted(65536 * (version - 1)));
    return values;
  }
}
