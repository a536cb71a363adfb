package org.pgonce.triggers.internal.definition;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.Mode;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;

/**
 * The body of a capturing function: stores its rows through the channel's own way in
 * (sql/store.sql), and notifies unless the channel's gate is open (sql/gate.sql). Of several events
 * each has a branch: PostgreSQL plans a statement when it first runs, so one that names a
 * transition table that another event lacks does no harm.
 */
final class CaptureBody {

  private final CaptureFunction function;
  private final Capture capture;
  private final Capture.Stored stored;

  CaptureBody(CaptureFunction function) {
    this.function = function;
    this.capture = function.capture();
    this.stored = capture.stored();
  }

  /**
   * The text, with what differs between databases.
   *
   * @param subscriptions as pgonce.subscriptions_sql has them
   * @param watched the object id of the table
   */
  String text(String subscriptions, String watched) {
    var triggers = function.triggers();
    var stores =
        triggers.size() == 1
            ? statements(triggers.get(0), "", subscriptions, watched)
            : triggers.stream()
                .map(
                    trigger ->
                        "TG_OP = '%s' THEN\n".formatted(trigger.event())
                            + statements(trigger, "  ", subscriptions, watched))
                .collect(Collectors.joining("  ELSIF ", "  IF ", "  END IF;\n"));
    var namesColumns =
        triggers.stream().anyMatch(trigger -> new CapturedRows(trigger, "\n").namesColumns());
    return Template.fill(
        "body.sql",
        Map.of(
            // A column of the user's may have the name of a variable.
            "conflict",
            namesColumns ? "#variable_conflict use_column\n" : "",
            "stores",
            stores,
            // The store function does it by itself.
            "notifies",
            storesByView() ? Template.fill("notify.sql", channelsNames()) : ""));
  }

  private Map<String, String> channelsNames() {
    var channel = capture.channel();
    return Map.of(
        "view", "pgonce." + Quoted.identifier("into_" + channel),
        "store", "pgonce." + Quoted.identifier("store_" + channel),
        "gate", Quoted.literal("pgonce." + Quoted.identifier("gate_" + channel)),
        "wake_up", Quoted.literal("pgonce_" + channel) + ", ''");
  }

  private String statements(
      CaptureTrigger trigger, String indent, String subscriptions, String watched) {
    var rows = new CapturedRows(trigger, "\n" + indent);
    var values = new HashMap<>(channelsNames());
    values.put("subscriptions", subscriptions);
    var from = rows.from(watched);
    values.put("rows", from.isEmpty() ? "" : from + ", ");
    values.put("from", from.isEmpty() ? "" : "\n" + indent + "    FROM " + from);
    values.put("tried", rows.tried());
    values.put("where", rows.where());
    values.put("order", rows.order());
    values.put("payload", rows.payload());
    values.put("primary_key", rows.primaryKey());
    values.put("key", rows.deliveryKey());
    values.put("order_key", rows.orderKey());
    values.put("written", trigger.event().row() + "_rows");
    values.put("due_at", rows.due());
    var version = stored.rules().version();
    values.put("version", version == 1 ? "" : ", version => " + version);
    values.put("stamp_column", version == 1 ? "" : ", stamp");
    // Beside the depth, which is the column's default. Looked up once per statement.
    values.put(
        "stamp",
        version == 1
            ? ""
            : ", (SELECT coalesce(pgonce.current_depth(), 0) + %s)"
                .formatted(65536 * (version - 1)));
    var tries = stored.unstorable() == Unstorable.DEAD_LETTER && trigger.event() != Event.TRUNCATE;
    return (tries ? Template.fill("trial.sql", indent, values) : "")
        + Template.fill(template(trigger), indent, values);
  }

  private boolean storesByView() {
    return capture.mode() != Mode.BROADCAST && stored.keys().arePlain();
  }

  private String template(CaptureTrigger trigger) {
    if (storesByView()) {
      return stored.byKey() ? "ordered.sql" : "plain.sql";
    }
    if (capture.mode() == Mode.BROADCAST) {
      return "broadcast.sql";
    }
    // Two statements that take the same keys wait for one another in one order, unless they have at
    // the table's own rows. Under an order the rows keep theirs.
    var isSorted =
        trigger.form() == TriggerForm.STATEMENT
            && trigger.event() != Event.TRUNCATE
            && stored.keys().isByDeliveryAlone()
            && !function.table().keepsApart(stored.keys().delivery().columns());
    return isSorted ? "sorted.sql" : "keyed.sql";
  }
}
