package org.pgonce.triggers.internal.definition;

import java.util.stream.Collectors;
import org.pgonce.Mode;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;

/**
 * Looks whether rows can be stored before it is tried, within a block that catches errors and
 * writes nothing: a block that writes would cost each call a transaction id of its own, and more
 * than 64 of them in one transaction slow the whole server down.
 */
final class CaptureTrial {

  // PostgreSQL takes 1 GB, and a value that an update left as it was is compressed, to 1/255 at the
  // best. The JSON of a plain value has at most 8 times its size (a bit string);
  // that of a numeric within another value up to 16,384 times (1e131071 takes 8 bytes).
  private static final int STORABLE_IF_PLAIN = 400_000;
  static final int SURELY_STORABLE = 60_000;

  // Of its own type somebody may have said how it becomes JSON, in a way that fails; a writer's
  // snapshot that is older does not show that. What is seldom asked is asked by itself: a query
  // opens each table that it names, whether it comes to it or not.
  private static final String LOOK =
      """
        SELECT %1$s, %2$s INTO largest, own_types;
        may_fail := largest > %3$d AND (largest > %4$d OR pgonce.may_expand(TG_RELID));
        IF own_types AND may_fail IS NOT TRUE THEN
          may_fail := current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') OR EXISTS (SELECT FROM pg_cast WHERE casttarget = 'json'::regtype AND castsource >= 16384);
        END IF;
      """;

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
  // the table itself was renamed, or for a column of a child, it fails at its worst, and a plan
  // made for this row alone, which costs much more, does it.
  private static final String KEPT_PLAN =
      """
          BEGIN
            SELECT c.* INTO row_payload, row_key, row_order_key, row_due_at FROM (%s) AS c;
          EXCEPTION WHEN OTHERS THEN
            EXECUTE %s INTO row_payload, row_key, row_order_key, row_due_at USING %s;
          END;
      """;

  // PostgreSQL shows a row that moves to another partition as it was, and then asks that one's
  // triggers. So there are never fewer rows before an update than after it, and where there are
  // more nobody knows which belong together: they are buried as they were.
  private static final String HALVES_LOST =
      """
        trouble := (SELECT format('PostgreSQL shows %%s rows before the update and %%s after it, and not which belong together: a trigger of another partition has swallowed what was to move there', o.rows, n.rows)
                      FROM (SELECT count(*) AS rows FROM old_rows) AS o CROSS JOIN (SELECT count(*) AS rows FROM new_rows) AS n WHERE o.rows <> n.rows);
        IF trouble IS NOT NULL THEN
      %s  END IF;
      """;

  // A column that is not there was dropped after the writer's snapshot: it is not to blame.
  private static final String IN_TROUBLE =
      """
        IF trouble IS NOT NULL THEN
      %5$s    FOR part IN SELECT pgonce.name_now(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = TG_RELID AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum LOOP
            BEGIN
              EXECUTE format('SELECT count(pgonce.as_json(t.%%I)) FROM %1$s AS t', part)%2$s;
            EXCEPTION WHEN undefined_column THEN NULL; WHEN OTHERS THEN
              trouble := 'column ' || part || ': ' || %3$s;
            END;
          END LOOP;
      %4$s  END IF;
      """;

  // What fails first is what is told: part says that there is one.
  private static final String PROBE =
      """
          IF part IS NULL THEN
            BEGIN
              %2$s;
            EXCEPTION WHEN OTHERS THEN
              part := '%1$s';
              trouble := part || ': ' || %3$s;
            END;
          END IF;
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

  // No write may fail of it: where the key cannot be told either, the row is buried without.
  private static final String BURY =
      """
          BEGIN
            EXECUTE format('SELECT array_agg(%2$s) FROM %3$s AS t CROSS JOIN LATERAL (SELECT %%s) AS k',
              coalesce((SELECT string_agg(format('t.%%I', k.name), ', ') FROM unnest(pgonce.primary_key(TG_RELID)) AS k (name)%6$s), 'NULL AS row'))
              INTO buried%4$s;
          EXCEPTION WHEN OTHERS THEN
            EXECUTE 'SELECT array_agg(%2$s) FROM %3$s AS t CROSS JOIN (SELECT NULL AS row) AS k' INTO buried%4$s;
          END;
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

  private static final String TABLE_VARIABLES =
      """
        own_types boolean;
        largest integer;
        may_fail boolean;
      """;
  // PostgreSQL's own types have object ids below 16384 (FirstNormalObjectId), and no casts to json
  // but those that it came with. The catalog is not asked which types the columns have: a snapshot
  // of the writer's that is older than the column would not show it. A row of nulls, as it is sent
  // to a client, is the number of its columns, then the type of each and that it is null, eight
  // hexadecimal digits each (record_send); that is of the rows as they are.
  private static final String OWN_TYPES =
      "(SELECT encode(record_send(ROW(%1$s.*)), 'hex') !~ '^.{8}(0000[0-3].{11})*$' FROM (SELECT) AS one LEFT JOIN %1$s_rows AS %1$s ON false)";

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

  /** Whether its rows can be stored wherever none is large, and the table's types are plain. */
  boolean isMostlySure() {
    return !isPerRow()
        && trigger.event() != Event.TRUNCATE
        && !rows.canFail()
        && !rows.asksForPrimaryKey();
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
    return "  trouble text;\n  part text;\n  buried json[];\n"
        + (rows.asksForPrimaryKey()
            ? "  primary_key constant text[] := pgonce.primary_key(TG_RELID);\n"
            : "")
        + (isPerRow() ? ROW_VARIABLES : TABLE_VARIABLES);
  }

  String text() {
    if (trigger.event() == Event.TRUNCATE) {
      return "";
    }
    return (trigger.mayLoseHalves() ? HALVES_LOST.formatted(verdict("old", "old_rows")) : "")
        + (isPerRow() ? perRow() : perStatement())
        + IN_TROUBLE.formatted(
            rows.rows(), using(), told(), verdict(trigger.event().row(), rows.rows()), probes());
  }

  private String probes() {
    return rows.probes().entrySet().stream()
        .map(
            probe ->
                PROBE.formatted(
                    probe.getKey(),
                    isPerRow()
                        ? "EXECUTE %s USING %s"
                            .formatted(
                                Quoted.dollar("SELECT " + probe.getValue()), rows.parameters())
                        : "PERFORM " + probe.getValue(),
                    told()))
        .collect(Collectors.joining());
  }

  private String perStatement() {
    if (rows.canFail()) {
      return "  own_types := %s;\n".formatted(ownTypes())
          + PER_STATEMENT.formatted("true", rows.query(), told());
    }
    var asked = (rows.asksForPrimaryKey() ? "cardinality(primary_key) = 0 OR " : "") + "may_fail";
    return LOOK.formatted(size(), ownTypes(), SURELY_STORABLE, STORABLE_IF_PLAIN)
        + PER_STATEMENT.formatted(asked, rows.query(), told());
  }

  private String ownTypes() {
    return OWN_TYPES.formatted(trigger.event().row());
  }

  /** Of the largest row; where two make one payload, of both. */
  private String size() {
    var row = trigger.event().row();
    return trigger.readsOldTable() && !row.equals("old")
        ? size("old") + " + " + size(row)
        : size(row);
  }

  private static String size(String row) {
    return "(SELECT max(pg_column_size(%1$s.*)) FROM %1$s_rows AS %1$s)".formatted(row);
  }

  private String perRow() {
    return PER_ROW.formatted(
        rows.namesColumns()
            ? KEPT_PLAN.formatted(
                rows.query(), Quoted.dollar(rows.queryOfParameters()), rows.parameters())
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

  /** What becomes of these rows. */
  private String verdict(String row, String table) {
    var channel = Quoted.literal(capture.channel());
    if (capture.stored().unstorable() == Unstorable.FAIL_WRITE) {
      return FAIL.formatted(channel);
    }
    if (capture.mode() == Mode.BROADCAST) {
      return DO_NOT_SEND.formatted(channel);
    }
    var key =
        capture.stored().content().kind() == Content.Kind.CHANGE
            ? "json_build_object(''op'', ''%s'', ''%s'', pgonce.as_json(k.*))"
                .formatted(trigger.event(), row)
            : "pgonce.as_json(k.*)";
    return BURY.formatted(
        channel, key, table, using(), capture.stored().versionArgument(), ofSelection());
  }

  /**
   * Which columns of the primary key a payload may show. Where one that must not be stored is not
   * there, any of the others may be the one.
   */
  private String ofSelection() {
    var content = capture.stored().content();
    var columns = content.columns().stream().map(Quoted::literal).collect(Collectors.joining(", "));
    return switch (content.selection()) {
      case ALL, PRIMARY_KEY -> "";
      case ONLY -> " WHERE k.name = ANY (ARRAY[%s])".formatted(columns);
      case WITHOUT ->
          " WHERE k.name <> ALL (ARRAY[%1$s]) AND NOT EXISTS (SELECT unnest(ARRAY[%1$s]) EXCEPT SELECT pgonce.name_now(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = TG_RELID AND NOT a.attisdropped)"
              .formatted(columns);
    };
  }
}
