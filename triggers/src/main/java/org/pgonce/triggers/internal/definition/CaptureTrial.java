package org.pgonce.triggers.internal.definition;

import org.pgonce.Mode;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;

/**
 * Looks whether rows can be stored before it is tried, within a block that catches errors and
 * writes nothing: a block that writes would cost each call a transaction id of its own, and more
 * than 64 of them in one transaction slow the whole server down.
 */
final class CaptureTrial {

  // The JSON of a value has at most 8 times its size (a bit string), and PostgreSQL takes 1 GB.
  private static final int SURELY_STORABLE = 100_000_000;

  private static final String PER_STATEMENT =
      """
        IF %s THEN
          BEGIN
            PERFORM count(c.payload), count(c.key), count(c.order_key), count(c.due_at) FROM (%s) AS c;
          EXCEPTION WHEN OTHERS THEN
            trouble := %s;
          END;
        END IF;
      """;

  private static final String PER_ROW =
      """
        BEGIN
          %s;
        EXCEPTION WHEN OTHERS THEN
          trouble := %s;
        END;
      """;

  private static final String IN_TROUBLE =
      """
        IF trouble IS NOT NULL THEN
          FOR part IN SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = TG_RELID AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum LOOP
            BEGIN
              EXECUTE format('SELECT count(to_json(t.%%I)) FROM %1$s AS t', part)%2$s;
            EXCEPTION WHEN OTHERS THEN
              trouble := 'column ' || part || ': ' || %3$s;
            END;
          END LOOP;
      %4$s  END IF;
      """;

  private static final String FAIL =
      """
          RAISE EXCEPTION 'pgonce: channel %% cannot take a row of table %%: %%. The channel is defined so that the write fails then', %s, TG_RELID::regclass, trouble
            USING ERRCODE = 'PO007';
      """;

  private static final String DO_NOT_SEND =
      """
          RAISE WARNING 'pgonce: channel %% cannot send a row of table %%: %%', %s, TG_RELID::regclass, trouble;
          RETURN NULL;
      """;

  private static final String BURY =
      """
          EXECUTE format('SELECT array_agg(%2$s) FROM %3$s AS t CROSS JOIN LATERAL (SELECT %%s) AS k',
            coalesce((SELECT string_agg(format('t.%%I', k.name), ', ') FROM unnest(pgonce.primary_key(TG_RELID)) AS k (name)), 'NULL AS row'))
            INTO buried%4$s;
          PERFORM pgonce.bury_captured(%1$s, 'NOT_STORABLE', trouble, buried, NULL, NULL, writer_context, writer_depth);
          RETURN NULL;
      """;

  private static final String ROW_VARIABLES =
      """
        row_payload json;
        row_key text;
        row_order_key text;
        row_due_at timestamptz;
      """;

  private final CaptureTrigger trigger;
  private final CapturedRows rows;
  private final Capture capture;
  private final boolean perRow;

  CaptureTrial(CaptureTrigger trigger, CapturedRows rows) {
    this.trigger = trigger;
    this.rows = rows;
    this.capture = trigger.capture();
    this.perRow = trigger.form() != TriggerForm.STATEMENT;
  }

  /** What is stored, when it has been tried. */
  String query() {
    return perRow
        ? "SELECT row_payload AS payload, row_key AS key, row_order_key AS order_key, row_due_at AS due_at"
        : rows.query();
  }

  String variables() {
    if (trigger.event() == Event.TRUNCATE) {
      return "";
    }
    return "  trouble text;\n  part text;\n  buried json[];\n" + (perRow ? ROW_VARIABLES : "");
  }

  String text() {
    if (trigger.event() == Event.TRUNCATE) {
      return "";
    }
    return (perRow ? perRow() : perStatement())
        + IN_TROUBLE.formatted(rows.rows(), using(), told(), verdict());
  }

  private String perStatement() {
    var row = trigger.event().row();
    var tooLarge = size(row);
    if (trigger.readsOldTable() && !row.equals("old")) {
      tooLarge += " OR " + size("old");
    }
    return PER_STATEMENT.formatted(rows.canFail() ? "true" : tooLarge, rows.query(), told());
  }

  private static String size(String row) {
    return "(SELECT max(pg_column_size(%1$s.*)) FROM %1$s_rows AS %1$s) > %2$d"
        .formatted(row, SURELY_STORABLE);
  }

  private String perRow() {
    var into = "INTO row_payload, row_key, row_order_key, row_due_at";
    var select =
        rows.perCall()
            ? "SELECT c.* %s FROM (%s) AS c".formatted(into, rows.query())
            : "EXECUTE $capture$%s$capture$ %s USING OLD, NEW, TG_OP, TG_RELID"
                .formatted(rows.query(), into);
    return PER_ROW.formatted(select, told())
        + "  IF trouble IS NULL AND row_payload IS NULL THEN\n    RETURN NULL;\n  END IF;\n";
  }

  /** The writer may see what its row holds; others may not. */
  private String told() {
    return capture.stored().unstorable() == Unstorable.FAIL_WRITE
        ? "SQLERRM"
        : "pgonce.told(SQLSTATE, SQLERRM)";
  }

  private String using() {
    return perRow ? " USING " + rows.record() : "";
  }

  private String verdict() {
    var channel = Quoted.literal(capture.channel());
    if (capture.stored().unstorable() == Unstorable.FAIL_WRITE) {
      return FAIL.formatted(channel);
    }
    if (capture.mode() == Mode.BROADCAST) {
      return DO_NOT_SEND.formatted(channel);
    }
    var key =
        capture.stored().content().kind() == Content.Kind.CHANGE
            ? "json_build_object(''op'', ''%s'', ''%s'', row_to_json(k.*))"
                .formatted(trigger.event(), trigger.event().row())
            : "row_to_json(k.*)";
    return BURY.formatted(channel, key, rows.rows(), using());
  }
}
