package org.pgonce.benchmarks.forms;

import static org.pgonce.triggers.TriggerForm.DEFERRED;
import static org.pgonce.triggers.TriggerForm.ROW;
import static org.pgonce.triggers.TriggerForm.STATEMENT;

import java.math.BigDecimal;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.triggers.RowChange;
import org.pgonce.triggers.TriggerChannel;
import org.pgonce.triggers.TriggerChannelBuilder;

/** What is compared. Every row that is written meets every condition, so all store as many. */
final class Kinds {

  record Item(int id, @Nullable String name, @Nullable BigDecimal price) {}

  private static final Kind INSERT_NONE = Kind.none("insert_none");
  private static final Kind INSERT_BY_HAND_STATEMENT =
      Kind.byHand("per statement", STATEMENT, "insert_by_hand_statement");
  private static final Kind INSERT_BY_HAND_ROW = Kind.byHand("per row", ROW, "insert_by_hand_row");
  private static final Kind INSERT_BY_HAND_NOTIFY =
      Kind.byHand("per statement, NOTIFY too", STATEMENT, "insert_by_hand_notify");
  private static final Kind INSERT_STATEMENT =
      Kind.pgonce("per statement", STATEMENT, inserted("insert_statement").build());
  private static final Kind INSERT_ROW =
      Kind.pgonce("per row", ROW, inserted("insert_row").form(ROW).build());
  private static final Kind INSERT_DEFERRED =
      Kind.pgonce(
          "per row, deferred", DEFERRED, inserted("insert_deferred").form(DEFERRED).build());
  private static final List<Kind> UPDATES = updates();
  private static final List<Kind> DELETES = deletes();

  private Kinds() {}

  /** Of each operation, the one without a trigger first. */
  static Map<Operation, List<Kind>> all() {
    var all = new EnumMap<Operation, List<Kind>>(Operation.class);
    all.put(Operation.BULK_INSERT, inserts());
    all.put(Operation.BULK_UPDATE, UPDATES);
    all.put(Operation.BULK_DELETE, DELETES);
    all.put(Operation.PARTITIONED_INSERT, partitioned());
    all.put(Operation.SINGLE_INSERT, singles());
    all.put(Operation.SHARED_INSERT, singles());
    all.put(Operation.SHARED_UPDATE, singleUpdates());
    all.put(Operation.SHARED_DELETE, DELETES);
    return all;
  }

  private static List<Kind> inserts() {
    var ordered = ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES);
    return List.of(
        INSERT_NONE,
        INSERT_BY_HAND_STATEMENT,
        INSERT_BY_HAND_ROW,
        INSERT_STATEMENT,
        Kind.pgonce(
            "per statement, two columns",
            STATEMENT,
            inserted("insert_statement_columns").columns("id", "name").build()),
        Kind.pgonce(
            "per statement, condition",
            STATEMENT,
            inserted("insert_statement_condition").when("new.price > 0").build()),
        Kind.pgonce(
            "per statement, order key",
            STATEMENT,
            inserted("insert_statement_order").options(ordered).orderKey("id").build()),
        Kind.pgonce(
            "per statement, delivery key",
            STATEMENT,
            inserted("insert_statement_delivery").deliveryKey("id").build()),
        INSERT_ROW,
        Kind.pgonce(
            "per row, two columns",
            ROW,
            inserted("insert_row_columns").columns("id", "name").form(ROW).build()),
        INSERT_DEFERRED);
  }

  private static List<Kind> updates() {
    return List.of(
        Kind.none("update_none"),
        Kind.byHand("per statement", STATEMENT, "update_by_hand_statement"),
        Kind.byHand("per row", ROW, "update_by_hand_row"),
        Kind.pgonce("per statement", STATEMENT, updated("update_statement").build()),
        Kind.pgonce(
            "per statement, both rows",
            STATEMENT,
            bothRows("update_both_rows").afterUpdate().build()),
        Kind.pgonce(
            "per statement, only if changed",
            STATEMENT,
            updated("update_changed").onlyIfChanged("price").build()),
        Kind.pgonce("per row", ROW, updated("update_row").form(ROW).build()),
        Kind.pgonce("per row, update of", ROW, on("update_of").afterUpdateOf("price").build()));
  }

  private static List<Kind> deletes() {
    return List.of(
        Kind.none("delete_none"),
        Kind.byHand("per statement", STATEMENT, "delete_by_hand_statement"),
        Kind.byHand("per row", ROW, "delete_by_hand_row"),
        Kind.pgonce("per statement", STATEMENT, on("delete_statement").afterDelete().build()),
        Kind.pgonce("per row", ROW, on("delete_row").afterDelete().form(ROW).build()));
  }

  private static List<Kind> partitioned() {
    return List.of(
        Kind.none("partitioned_none"),
        Kind.byHand("per row", ROW, "partitioned_by_hand_row"),
        // What the library chooses for such a table.
        Kind.pgonce("per row", ROW, inserted("partitioned_row").build()));
  }

  private static List<Kind> singles() {
    return List.of(
        INSERT_NONE,
        INSERT_BY_HAND_STATEMENT,
        INSERT_BY_HAND_NOTIFY,
        INSERT_BY_HAND_ROW,
        INSERT_STATEMENT,
        INSERT_ROW,
        INSERT_DEFERRED);
  }

  /** What a row costs in each form, without what else a trigger may be asked for. */
  private static List<Kind> singleUpdates() {
    var tables =
        Set.of(
            "update_none",
            "update_by_hand_statement",
            "update_by_hand_row",
            "update_statement",
            "update_row");
    return UPDATES.stream().filter(kind -> tables.contains(kind.table())).toList();
  }

  private static TriggerChannelBuilder<Item> on(String table) {
    return TriggerChannel.on(table, Item.class);
  }

  private static TriggerChannelBuilder<Item> inserted(String table) {
    return on(table).afterInsert();
  }

  private static TriggerChannelBuilder<Item> updated(String table) {
    return on(table).afterUpdate();
  }

  private static TriggerChannelBuilder<RowChange<Item>> bothRows(String table) {
    return TriggerChannel.changesOf(table, Item.class);
  }
}
