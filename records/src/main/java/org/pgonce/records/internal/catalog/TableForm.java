package org.pgonce.records.internal.catalog;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.TableName;

/**
 * What kind of thing a table is, as far as its trigger minds.
 *
 * @param kind relkind of pg_class
 * @param persistence relpersistence of pg_class
 * @param partition whether it is a partition of another
 * @param hasChildren whether it has partitions, or tables that inherit from it
 * @param parents what it inherits from, or is a partition of; empty if nothing
 */
public record TableForm(
    String kind,
    String persistence,
    boolean partition,
    boolean rowSecurity,
    boolean hasChildren,
    String parents) {

  /** Why no trigger channel can be on it; null if it can. */
  public @Nullable String obstacle(TableName name) {
    if ("pgonce".equals(name.schema())) {
      return "table %s is pgonce's own: what it stores would be stored again, without end"
          .formatted(name);
    }
    if (persistence.equals("t")) {
      return "table %s is temporary, seen by one session only: watch a permanent table"
          .formatted(name);
    }
    return switch (kind) {
      case "r", "p" -> null;
      case "v" ->
          "%s is a view: watch the table behind it, which also sees what is inserted through the view"
              .formatted(name);
      case "m" ->
          "%s is a materialized view, which no statement inserts into: watch the tables behind it"
              .formatted(name);
      case "f" ->
          "%s is a foreign table, whose rows other servers insert unseen: watch it where it lives"
              .formatted(name);
      default -> "%s is no table".formatted(name);
    };
  }

  private boolean isPartitioned() {
    return kind.equals("p");
  }

  /**
   * Whether its rows are not only those that statements on itself change: a trigger per statement
   * fires for the table that the statement names, and for none above or below it.
   */
  public boolean isOfSeveral() {
    return isPartitioned() || hasChildren || inherits();
  }

  private boolean inherits() {
    return !parents.isEmpty();
  }

  /** Which tables it is one with, if it is: for example {@code table a inherits from b}. */
  public String relations(TableName name) {
    return inherits()
        ? "table %s %s %s"
            .formatted(name, partition ? "has become a partition of" : "inherits from", parents)
        : "table %s has %s"
            .formatted(name, isPartitioned() ? "partitions" : "tables that inherit from it");
  }

  /**
   * What a trigger per statement on it misses, which was asked for by the definition: a line, or
   * null if it misses nothing.
   */
  public @Nullable String missedPerStatement(TableName name) {
    return inherits()
        ? "table %s %s %s, and its triggers fire per statement, as the definition asks: what a statement does that names %s makes no notification. Take TriggerForm.ROW, or leave the form out"
            .formatted(name, partition ? "is a partition of" : "inherits from", parents, parents)
        : null;
  }

  /**
   * What a channel on it does that one may not expect.
   *
   * @param perStatement whether one of its triggers for rows fires per statement
   * @param truncate whether it is about TRUNCATE too
   */
  public List<String> warnings(TableName name, boolean perStatement, boolean truncate) {
    var warnings = new ArrayList<String>();
    if (isPartitioned()) {
      warnings.add(
          perStatement
              ? "table %s is partitioned: what is done to a partition by its own name makes no notification; nor does a row that a MERGE moves to another partition, or it is told as inserted or deleted where that MERGE inserts or deletes others"
                  .formatted(name)
              : "table %s is partitioned: a row that an UPDATE moves to another partition is deleted there and inserted here, and not updated"
                  .formatted(name));
    } else if (hasChildren) {
      warnings.add(
          perStatement
              ? "other tables inherit from table %s: their rows make a notification where a statement names %s, and none where it names theirs"
                  .formatted(name, name)
              : "other tables inherit from table %s: their rows make no notification of this channel"
                  .formatted(name));
    }
    if (partition && !perStatement) {
      warnings.add(
          "table %s is a partition of %s: rows of the other partitions make no notification, and a row that an UPDATE moves to or from another one is inserted or deleted here, and not updated"
              .formatted(name, parents));
    }
    if (truncate && (isPartitioned() || hasChildren)) {
      warnings.add(
          "other tables are part of table %s: a TRUNCATE of one of those by its own name makes no notification"
              .formatted(name));
    }
    if (persistence.equals("u")) {
      warnings.add(
          "table %s is unlogged: a crash of the server empties it, and leaves the notifications of its rows"
              .formatted(name));
    }
    if (rowSecurity) {
      warnings.add(
          "table %s has row-level security: notifications hold its whole rows, whatever its policies hide"
              .formatted(name));
    }
    return warnings;
  }
}
