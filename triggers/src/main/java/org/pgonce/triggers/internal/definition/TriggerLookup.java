package org.pgonce.triggers.internal.definition;

import java.util.stream.Collectors;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.definition.CaptureTrigger.Shape;

/**
 * DDL of triggers that looks before it locks. CREATE and DROP TRIGGER take the table's lock before
 * they know whether there is anything to do: a migration that is run again would have writers wait
 * for nothing behind whatever transaction is open.
 *
 * <p>The looking is done by a function of pgonce's, which pins its path: no operator is looked up
 * by the session's, and the table is found where that leads.
 */
public final class TriggerLookup {

  private final String condition;

  private TriggerLookup(String condition) {
    this.condition = condition;
  }

  /** A trigger of this name. */
  public static TriggerLookup of(TableName table, String name) {
    return new TriggerLookup(
        "pgonce.has_trigger(%s, %s)"
            .formatted(Quoted.literal(Quoted.table(table)), Quoted.literal(name)));
  }

  /**
   * The same if it is in this form.
   *
   * @param function bare name of the function that it runs
   */
  public static TriggerLookup of(TableName table, String name, String function, Shape shape) {
    return new TriggerLookup(call(table, name, function, shape, ""));
  }

  /**
   * The same if it fires like this.
   *
   * @param firing tgenabled of pg_trigger
   */
  public static TriggerLookup of(
      TableName table, String name, String function, Shape shape, String firing) {
    return new TriggerLookup(
        call(table, name, function, shape, ", fires => " + Quoted.literal(firing)));
  }

  private static String call(
      TableName table, String name, String function, Shape shape, String more) {
    return "pgonce.has_trigger(%s, %s, %s, %d, %s, %s, %s, CAST(ARRAY[%s] AS pg_catalog.text[])%s)"
        .formatted(
            Quoted.literal(Quoted.table(table)),
            Quoted.literal(name),
            Quoted.literal(function),
            shape.type(),
            shape.oldTable(),
            shape.newTable(),
            shape.deferred(),
            shape.columns().stream()
                .sorted()
                .map(Quoted::literal)
                .collect(Collectors.joining(", ")),
            more);
  }

  /** The statements, to be run where there is no such trigger. */
  public String unlessThere(String statements) {
    return block("NOT " + condition, statements);
  }

  /** The statements, to be run where there is one. */
  public String ifThere(String statements) {
    return block(condition, statements);
  }

  private static String block(String condition, String statements) {
    return "DO "
        + Quoted.dollar("\nBEGIN\n  IF " + condition + " THEN\n" + statements + "  END IF;\nEND\n")
        + ";\n";
  }
}
