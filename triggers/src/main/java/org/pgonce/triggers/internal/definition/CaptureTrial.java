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
      %s  EXCEPTION WHEN OTHERS THEN
          trouble := %s;
        END;
        IF trouble IS NULL AND row_payload IS NULL THEN
          RETURN NULL;
        END IF;
      """;

  // A plan that is kept is made anew when the table is altered, because it has the table's name as
  // a constant (PostgreSQL takes a regclass for a dependency). Where that is not enough, as when
  // the
  // table itself was renamed, or for a column of a child, it fails at its worst, and a plan made
  // for
  // this row alone, which costs twenty times as much, does it.
  private static final String KEPT_PLAN =
      """
          BEGIN
            SELECT c.* INTO row_payload, row_key, row_order_key, row_due_at FROM (%s) AS c;
          EXCEPTION WHEN OTHERS THEN
            EXECUTE $capture$%s$capture$ INTO row_payload, row_key, row_order_key, row_due_at USING OLD, NEW, TG_OP, TG_RELID;
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
          PERFORM pgonce.bury_captured(%1$s, 'NOT_STORABLE', trouble, buried, NULL, NULL, writer_context, writer_depth%5$s);
          RETURN NULL;
      """;

  private static final String ROW_VARIABLES =
      """
        row_id bigint;
        old_json json;
        new_json json;
        row_payload json;
        row_key text;
        row_order_key text;
        row_due_at timestamptz;
      """;

  private final CaptureTrigger trigger;
  private final CapturedRows rows;
  private final Capture capture;

  CaptureTrial(CaptureTrigger trigger, CapturedRows rows) {
    this.trigger = trigger;
    this.rows = rows;
    this.capture = trigger.capture();
  }

  /** Whether it has one row, in variables. */
  boolean isPerRow() {
    return trigger.form() != TriggerForm.STATEMENT;
  }

  /** What is stored, when it has been tried. */
  String query() {
    return isPerRow()
        ? "SELECT row_payload AS payload, row_key AS key, row_order_key AS order_key, row_due_at AS due_at"
        : rows.query();
  }

  String variables() {
    if (trigger.event() == Event.TRUNCATE) {
      return "";
    }
    return "  trouble text;\n  part text;\n  buried json[];\n" + (isPerRow() ? ROW_VARIABLES : "");
  }

  String text() {
    if (trigger.event() == Event.TRUNCATE) {
      return "";
    }
    return (isPerRow() ? perRow() : perStatement())
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
    return PER_ROW.formatted(
        rows.namesColumns()
            ? KEPT_PLAN.formatted(rows.query(), rows.queryOfParameters())
            : rows.assignments(),
        told());
  }

  /** The writer may see what its row holds; others may not. */
  private String told() {
    return capture.stored().unstorable() == Unstorable.FAIL_WRITE
        ? "SQLERRM"
        : "pgonce.told(SQLSTATE, SQLERRM)";
  }

  private String using() {
    return isPerRow() ? " USING " + rows.record() : "";
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
    return BURY.formatted(channel, key, rows.rows(), using(), capture.stored().versionArgument());
  }
}
