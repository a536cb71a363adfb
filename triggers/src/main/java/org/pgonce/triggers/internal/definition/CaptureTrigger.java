package org.pgonce.triggers.internal.definition;

import java.util.Locale;
import java.util.stream.Collectors;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.TriggerForm;

/** One trigger of a channel, after one event; all triggers of a channel run one function. */
public record CaptureTrigger(Capture capture, Event event, TriggerForm form, WatchedTable table) {

  private static final String CREATE =
      """
      CREATE %sTRIGGER %s AFTER %s ON %s
      %s
      EXECUTE FUNCTION %s();
      """;

  /** The same of a table of which less is known, or more. */
  CaptureTrigger on(WatchedTable other) {
    return new CaptureTrigger(capture, event, form, other);
  }

  /** Unquoted. At most 62 bytes. */
  public String bareName() {
    return "pgonce_" + capture.channel() + suffix();
  }

  // A colon, which no channel's name has: so no two channels can come to the same name.
  private String suffix() {
    if (capture.events().size() == 1) {
      return "";
    }
    return event == Event.TRUNCATE ? ":trunc" : ":" + event.name().toLowerCase(Locale.ROOT);
  }

  /** To be run as who may create triggers on the table. */
  public String create(TableName table) {
    var kind = isConstraint() ? "CONSTRAINT " : "OR REPLACE ";
    var name = Quoted.identifier(bareName());
    var function = CaptureFunction.nameOf(capture.channel());
    // There is no OR REPLACE for constraint triggers.
    return (isConstraint() ? drop(table) : "")
        + CREATE.formatted(kind, name, firesAfter(), Quoted.table(table), firesFor(), function);
  }

  /** Whether it is deferred, which PostgreSQL has of constraint triggers only. */
  public boolean isConstraint() {
    return form == TriggerForm.DEFERRED;
  }

  /** What PostgreSQL prints of it, without quotes, its name and its table. */
  public String printedForm() {
    return "CREATE %sTRIGGER AFTER %s %s EXECUTE FUNCTION %s()"
        .formatted(
            isConstraint() ? "CONSTRAINT " : "",
            firesAfter(),
            firesFor(),
            CaptureFunction.nameOf(capture.channel()))
        .replace("\"", "");
  }

  private String firesAfter() {
    var columns = capture.filter().updateOf();
    return event != Event.UPDATE || columns.isEmpty()
        ? event.name()
        : columns.stream()
            .sorted()
            .map(Quoted::identifier)
            .collect(Collectors.joining(", ", "UPDATE OF ", ""));
  }

  private String firesFor() {
    if (isConstraint()) {
      return "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW";
    }
    if (form == TriggerForm.ROW) {
      return "FOR EACH ROW";
    }
    var rows =
        (readsOldTable() ? "OLD TABLE AS old_rows " : "")
            + (event.hasNew() ? "NEW TABLE AS new_rows " : "");
    return (rows.isEmpty() ? "" : "REFERENCING " + rows) + "FOR EACH STATEMENT";
  }

  /** To be run by the table's owner. */
  public String drop(TableName name) {
    return lockBeforeDrop(table.isPartitioned(), name)
        + "DROP TRIGGER IF EXISTS %s ON %s;\n"
            .formatted(Quoted.identifier(bareName()), Quoted.table(name));
  }

  /**
   * Of a partitioned table PostgreSQL (14 to 18) drops the partitions' triggers first, and so locks
   * the table last. Who writes to it has the table before a partition: the two would wait in a
   * circle. Empty for any other table.
   */
  public static String lockBeforeDrop(boolean isPartitioned, TableName name) {
    return isPartitioned
        ? "LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE;\n".formatted(Quoted.table(name))
        : "";
  }

  /** Whether it fires per row and names columns: its function is about this one table then. */
  public boolean namesColumnsPerRow() {
    return form != TriggerForm.STATEMENT && new CapturedRows(this, "\n").namesColumns();
  }

  /** Whether it has to know the row before: always of a deletion, now and then of an update. */
  boolean readsOldTable() {
    return event == Event.DELETE || pairs();
  }

  /** Whether it looks at an update's rows before and after together. */
  boolean pairs() {
    return event == Event.UPDATE
        && (capture.stored().content().kind() == Content.Kind.CHANGE
            || capture.filter().comparesRows()
            || !capture.expressions().isEmpty());
  }

  /**
   * Whether an update may show fewer rows after it than before: where one moves to another
   * partition, and a trigger there swallows it. By itself the library takes a trigger per row for a
   * table that has partitions.
   */
  boolean mayLoseHalves() {
    return pairs()
        && form == TriggerForm.STATEMENT
        && capture.filter().form() == TriggerForm.STATEMENT;
  }
}
