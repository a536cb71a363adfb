package org.pgonce.triggers.internal;

import org.pgonce.triggers.TableName;

/** The trigger on the watched table. */
final class CaptureTrigger {

  // Per statement, with a transition table: a thousand rows of one statement cost one call and one
  // wake-up.
  private static final String CREATE =
      """
      CREATE OR REPLACE TRIGGER %s AFTER INSERT ON %s
      REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
      EXECUTE FUNCTION %s();
      """;

  private CaptureTrigger() {}

  static String name(Capture capture) {
    return "pgonce_" + capture.channel();
  }

  static String create(Capture capture, TableName table) {
    return CREATE.formatted(
        Quoted.identifier(name(capture)), Quoted.table(table), CaptureFunction.name(capture));
  }
}
