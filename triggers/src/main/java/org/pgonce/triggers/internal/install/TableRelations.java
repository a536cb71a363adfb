package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.TableForm;

/** What partitions, inheritance and the like of a table mean for its channel, in words. */
final class TableRelations {

  private TableRelations() {}

  /** Which tables it is one with, if it is: for example {@code table a inherits from b}. */
  static String relations(TableForm form, TableName name) {
    return form.inherits()
        ? "table %s %s %s"
            .formatted(
                name,
                form.partition() ? "has become a partition of" : "inherits from",
                form.parents())
        : "table %s has %s"
            .formatted(name, form.isPartitioned() ? "partitions" : "tables that inherit from it");
  }

  /**
   * What a trigger per statement on it misses, which was asked for by the definition: a line, or
   * null if it misses nothing.
   */
  static @Nullable String missedPerStatement(TableForm form, TableName name) {
    return form.inherits()
        ? "table %s %s %s, and its triggers fire per statement, as the definition asks: what a statement does that names %s makes no notification. Take TriggerForm.ROW, or leave the form out"
            .formatted(
                name,
                form.partition() ? "is a partition of" : "inherits from",
                form.parents(),
                form.parents())
        : null;
  }

  /**
   * What a channel on it does that one may not expect.
   *
   * @param perStatement whether one of its triggers for rows fires per statement
   * @param truncate whether it is about TRUNCATE too
   */
  static List<String> warnings(
      TableForm form, TableName name, boolean perStatement, boolean truncate) {
    var warnings = new ArrayList<String>();
    if (form.isPartitioned()) {
      warnings.add(
          perStatement
              ? "table %s is partitioned: what is done to a partition by its own name makes no notification; nor does a row that a MERGE moves to another partition, or it is told as inserted or deleted where that MERGE inserts or deletes others"
                  .formatted(name)
              : "table %s is partitioned: a row that an UPDATE moves to another partition is deleted there and inserted here, and not updated"
                  .formatted(name));
    } else if (form.hasChildren()) {
      warnings.add(
          perStatement
              ? "other tables inherit from table %s: their rows make a notification where a statement names %s, and none where it names theirs"
                  .formatted(name, name)
              : "other tables inherit from table %s: their rows make no notification of this channel"
                  .formatted(name));
    }
    if (form.partition() && !perStatement) {
      warnings.add(
          "table %s is a partition of %s: rows of the other partitions make no notification, and a row that an UPDATE moves to or from another one is inserted or deleted here, and not updated"
              .formatted(name, form.parents()));
    }
    if (truncate && (form.isPartitioned() || form.hasChildren())) {
      warnings.add(
          "other tables are part of table %s: a TRUNCATE of one of those by its own name makes no notification"
              .formatted(name));
    }
    if (form.persistence().equals("u")) {
      warnings.add(
          "table %s is unlogged: a crash of the server empties it, and leaves the notifications of its rows"
              .formatted(name));
    }
    if (form.rowSecurity()) {
      warnings.add(
          "table %s has row-level security: notifications hold its whole rows, whatever its policies hide"
              .formatted(name));
    }
    return warnings;
  }
}
