package org.pgonce.triggers.internal.definition;

import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.pgonce.records.TableName;

/**
 * DDL of triggers that looks before it locks. CREATE and DROP TRIGGER take the table's lock before
 * they know whether there is anything to do: a migration that is run again would have writers wait
 * for nothing behind whatever transaction is open. The looking is done by a function of pgonce's,
 * which pins its path.
 */
public final class TriggerLookup {

  private TriggerLookup() {}

  /**
   * Statements, to be run where the table has a trigger of this name and form.
   *
   * @param form as {@link CaptureTrigger#printedForm}; empty for any
   */
  public static String ifThere(TableName table, String name, String form, String statements) {
    return block("", table, name, form, "", statements);
  }

  /**
   * The same where it has none that fires like this.
   *
   * @param firing tgenabled of pg_trigger; empty for any
   */
  public static String unlessThere(
      TableName table, String name, String form, String firing, String statements) {
    return block("NOT ", table, name, form, firing, statements);
  }

  private static String block(
      String not, TableName table, String name, String form, String firing, String statements) {
    var arguments =
        Stream.of(Quoted.table(table), name, form, firing)
            .filter(argument -> !argument.isEmpty())
            .map(Quoted::literal)
            .collect(Collectors.joining(", "));
    return "DO "
        + Quoted.dollar(
            "\nBEGIN\n  IF %spgonce.has_trigger(%s) THEN\n%s  END IF;\nEND\n"
                .formatted(not, arguments, statements))
        + ";\n";
  }
}
