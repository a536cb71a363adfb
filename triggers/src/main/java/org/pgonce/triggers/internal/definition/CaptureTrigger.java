package org.pgonce.triggers.internal.definition;

import org.pgonce.triggers.TableName;

/** The trigger on the watched table. */
public final class CaptureTrigger {

  // Per statement, with a transition table: a thousand rows of one statement cost one call and one
  // wake-up.
  private static final String CREATE =
      """
      CREATE OR REPLACE TRIGGER %s AFTER INSERT ON %s
      REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
      EXECUTE FUNCTION %s();
      """;

  private CaptureTrigger() {}

  /** Unquoted. At most 55 bytes. */
  public static String bareName(Capture capture) {
    return "pgonce_" + capture.channel();
  }

  /** To be run as who may create triggers on the table. */
  public static String create(Capture capture, TableName table) {
    return CREATE.formatted(
        Quoted.identifier(bareName(capture)), Quoted.table(table), CaptureFunction.name(capture));
  }
}
