package org.pgonce.records.internal.catalog;

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
    if ("pg_catalog".equals(name.schema())) {
      return "table %s is PostgreSQL's own, which takes no trigger: watch a table of yours"
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

  public boolean isPartitioned() {
    return kind.equals("p");
  }

  /**
   * Whether its rows are not only those that statements on itself change: a trigger per statement
   * fires for the table that the statement names, and for none above or below it.
   */
  public boolean isOfSeveral() {
    return isPartitioned() || hasChildren || inherits();
  }

  public boolean inherits() {
    return !parents.isEmpty();
  }
}
