package org.pgonce.triggers.internal.definition;

import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.TriggerForm;

/** One trigger of a channel, after one event; it runs a function of its own. */
public record CaptureTrigger(Capture capture, Event event, TriggerForm form) {

  private static final String CREATE =
      """
      CREATE OR REPLACE TRIGGER %s AFTER %s%s ON %s
      %sFOR EACH %s
      EXECUTE FUNCTION %s();
      """;

  // There is no OR REPLACE for these.
  private static final String CREATE_DEFERRED =
      """
      CREATE CONSTRAINT TRIGGER %s AFTER %s%s ON %s
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
      EXECUTE FUNCTION %s();
      """;

  /**
   * How PostgreSQL keeps it.
   *
   * @param type tgtype of pg_trigger
   * @param oldTable whether it has the old rows as old_rows
   * @param newTable whether it has the new rows as new_rows
   * @param columns of its UPDATE OF
   */
  public record Shape(
      int type, boolean oldTable, boolean newTable, boolean deferred, Set<String> columns) {}

  public Shape shape() {
    var row = form != TriggerForm.STATEMENT;
    return new Shape(
        event.triggerType() + (row ? 1 : 0),
        !row && readsOldTable(),
        !row && event.hasNew(),
        form == TriggerForm.DEFERRED,
        event == Event.UPDATE ? Set.copyOf(capture.watch().updateOf()) : Set.of());
  }

  /** Unquoted. At most 62 bytes. */
  public String bareName() {
    return "pgonce_" + capture.channel() + suffix();
  }

  /** Of its function: unquoted, without the schema, which is always pgonce. At most 63 bytes. */
  public String bareFunctionName() {
    return bareFunctionName(capture.channel()) + suffix();
  }

  /** How the names of all functions of a channel begin; after that comes nothing, or a colon. */
  public static String bareFunctionName(String channel) {
    return "capture_" + channel;
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
    var name = Quoted.identifier(bareName());
    var function = new CaptureFunction(this).name();
    return form == TriggerForm.DEFERRED
        ? drop(table)
            + CREATE_DEFERRED.formatted(name, event, columns(), Quoted.table(table), function)
        : CREATE.formatted(
            name, event, columns(), Quoted.table(table), transitionTables(), form, function);
  }

  /** Whether the table has it, as it is defined. */
  public TriggerLookup lookup(TableName table) {
    return TriggerLookup.of(table, bareName(), bareFunctionName(), shape());
  }

  /** To be run by the table's owner. */
  public String drop(TableName table) {
    return "DROP TRIGGER IF EXISTS %s ON %s;\n"
        .formatted(Quoted.identifier(bareName()), Quoted.table(table));
  }

  private String columns() {
    var columns = shape().columns();
    return columns.isEmpty()
        ? ""
        : columns.stream()
            .sorted()
            .map(Quoted::identifier)
            .collect(Collectors.joining(", ", " OF ", ""));
  }

  private String transitionTables() {
    var shape = shape();
    var tables = shape.oldTable() ? "OLD TABLE AS old_rows " : "";
    tables += shape.newTable() ? "NEW TABLE AS new_rows " : "";
    return tables.isEmpty() ? "" : "REFERENCING " + tables;
  }

  /** Whether it makes a plan for each row, were the table there. */
  public boolean plansForEachRowIn(String schema) {
    return form != TriggerForm.STATEMENT
        && new CapturedRows(this).namesColumns()
        && capture.table().schema() == null
        && !schema.equals(CapturedRows.DEFAULT_SCHEMA);
  }

  /**
   * Whether its function finds the table by its name, for which its owner must be allowed to use
   * the schema.
   *
   * @param found where it is
   */
  public boolean looksUp(TableName found) {
    var schema = capture.table().schema();
    return form != TriggerForm.STATEMENT
        && new CapturedRows(this).namesColumns()
        && (schema == null ? CapturedRows.DEFAULT_SCHEMA : schema).equals(found.schema());
  }

  /** Whether it has to know the row before: always of a deletion, now and then of an update. */
  boolean readsOldTable() {
    return event == Event.DELETE || pairs();
  }

  /** Whether it looks at an update's rows before and after together. */
  boolean pairs() {
    return event == Event.UPDATE
        && (capture.stored().content().kind() == Content.Kind.CHANGE
            || capture.watch().comparesRows()
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
        && capture.watch().form() == TriggerForm.STATEMENT;
  }
}
