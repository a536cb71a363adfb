package org.pgonce.triggers.internal.definition;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.definition.Content.Selection;

/**
 * What one call of a trigger stores: payload, key, order_key and due_at of each row.
 *
 * <p>A column that was dropped or renamed must break no write. Where rows are stored whole, columns
 * are looked up in their JSON. Where columns are named, each name is written so that it is null if
 * there is no such column: it is looked for in the row first, and then one level further out.
 *
 * <p>PostgreSQL (18 and before) does not notice by itself that a column was retyped since the plan
 * was made of SQL that takes the row of a trigger per row apart, and the write would fail. So such
 * a trigger passes its row as a whole, as simple expressions, which is faster too; or its query
 * depends on the table, see {@link CaptureTrial}.
 */
final class CapturedRows {

  /** Where a table is looked for whose definition does not say where it is. */
  static final String DEFAULT_SCHEMA = "public";

  private final CaptureTrigger trigger;
  private final Capture capture;
  private final Content content;
  private final Event event;

  CapturedRows(CaptureTrigger trigger) {
    this.trigger = trigger;
    this.capture = trigger.capture();
    this.content = capture.stored().content();
    this.event = trigger.event();
  }

  /** Whether it names columns, or has SQL that does. */
  boolean namesColumns() {
    return event != Event.TRUNCATE
        && (content.selection() == Selection.ONLY || !capture.expressions().isEmpty());
  }

  /** Whether it can fail though its rows are ordinary ones. */
  boolean canFail() {
    return event != Event.TRUNCATE && (content.canFail() || !capture.expressions().isEmpty());
  }

  /** For the function itself to run. */
  String query() {
    if (event == Event.TRUNCATE) {
      return "SELECT '{\"op\":\"TRUNCATE\"}'::json AS payload, NULL::text AS key, NULL::text AS order_key, %s AS due_at"
          .formatted(dueAfter());
    }
    return namesColumns() ? byColumns(VARIABLES) : byWholeRows();
  }

  /** The same for EXECUTE, which is given OLD, NEW, TG_OP and TG_RELID: of a row, by columns. */
  String queryOfParameters() {
    return byColumns(PARAMETERS);
  }

  /** What PL/pgSQL has of a call. */
  private record Call(String old, String now, String operation, String relation) {}

  private static final Call VARIABLES = new Call("OLD", "NEW", "TG_OP", "TG_RELID");
  private static final Call PARAMETERS = new Call("$1", "$2", "$3", "$4");

  private String byWholeRows() {
    var oldRecord = trigger.pairs() ? "o.pgonce_row" : "old.*";
    var newRecord = trigger.pairs() ? "n.pgonce_row" : "new.*";
    var json = new ArrayList<String>();
    if (trigger.readsOldTable()) {
      json.add("row_to_json(%s) AS o".formatted(oldRecord));
    }
    if (event.hasNew()) {
      json.add("row_to_json(%s) AS n".formatted(newRecord));
    }
    var inner = "";
    var outer = "";
    if (comparesAll()) {
      inner = " WHERE " + differ(oldRecord, newRecord);
    } else if (comparesSome()) {
      outer = "\n WHERE " + someDiffer("r.o", "r.n");
    }
    var row = event.hasNew() ? "r.n" : "r.o";
    var keys = capture.stored().keys();
    return """
        SELECT %s AS payload, %s AS key, %s AS order_key, %s AS due_at
          FROM (SELECT %s FROM %s%s OFFSET 0) AS r%s"""
        .formatted(
            payload("r.o", "r.n", VARIABLES),
            keyOfJson(keys.delivery(), row),
            keyOfJson(keys.order(), row),
            dueAfter(),
            String.join(", ", json),
            trigger.pairs() ? PAIRS : table(),
            inner,
            outer);
  }

  /** The same of one row, into the variables of a trigger per row. */
  String assignments() {
    var lines = new ArrayList<String>();
    if (trigger.readsOldTable()) {
      lines.add("old_json := row_to_json(OLD);");
    }
    if (event.hasNew()) {
      lines.add("new_json := row_to_json(NEW);");
    }
    if (comparesAll()) {
      lines.add(0, "IF " + differ("OLD", "NEW") + " THEN");
    } else if (comparesSome()) {
      lines.add("IF " + someDiffer("old_json", "new_json") + " THEN");
    }
    var row = event.hasNew() ? "new_json" : "old_json";
    var keys = capture.stored().keys();
    lines.add("row_payload := %s;".formatted(payload("old_json", "new_json", VARIABLES)));
    lines.add("row_key := %s;".formatted(keyOfJson(keys.delivery(), row)));
    lines.add("row_order_key := %s;".formatted(keyOfJson(keys.order(), row)));
    lines.add("row_due_at := %s;".formatted(dueAfter()));
    lines.removeIf(line -> line.contains(" := NULL::"));
    if (comparesAll() || comparesSome()) {
      lines.add("END IF;");
    }
    return lines.stream().map(line -> "    " + line + "\n").collect(Collectors.joining());
  }

  private boolean comparesAll() {
    var changed = capture.watch().changed();
    return event == Event.UPDATE && changed != null && changed.isEmpty();
  }

  private boolean comparesSome() {
    var changed = capture.watch().changed();
    return event == Event.UPDATE && changed != null && !changed.isEmpty();
  }

  private static String differ(String one, String other) {
    return one + " OPERATOR(pg_catalog.*<>) " + other;
  }

  /** One that is not there counts as changed: better one too many. */
  private String someDiffer(String old, String now) {
    return changed().stream()
        .map(Quoted::literal)
        .map(
            c ->
                "%2$s -> %3$s IS NULL OR %1$s ->> %3$s IS DISTINCT FROM %2$s ->> %3$s"
                    .formatted(old, now, c))
        .collect(Collectors.joining(" OR "));
  }

  private List<String> changed() {
    var changed = capture.watch().changed();
    return changed == null ? List.of() : changed;
  }

  private static String keyOfJson(Keys.Key key, String row) {
    return key.columns().isEmpty()
        ? "NULL::text"
        : key.columns().stream()
            .map(column -> row + " ->> " + Quoted.literal(column))
            .collect(Collectors.joining(", ", "pgonce.row_key(", ")"));
  }

  private String byColumns(Call call) {
    var keys = capture.stored().keys();
    var conditions = new ArrayList<String>();
    if (comparesAll()) {
      conditions.add(differ("old.*", "new.*"));
    } else if (comparesSome()) {
      conditions.add(
          differ(
              inRow("old", changed(), ROW_OF, "'old'"), inRow("new", changed(), ROW_OF, "'new'")));
    }
    if (capture.watch().condition() != null) {
      conditions.add("(\n" + capture.watch().condition() + "\n)");
    }
    var dependsOn =
        isPerRow() && call.equals(VARIABLES)
            ? ", %s::regclass AS pgonce_table".formatted(Quoted.literal(qualifiedTable()))
            : "";
    return """
        SELECT %s AS payload, %s AS key, %s AS order_key, %s AS due_at
          FROM %s CROSS JOIN (SELECT %s AS tg_op%s) AS event%s"""
        .formatted(
            payload(columnsOf("old"), columnsOf("new"), call),
            key(keys.delivery()),
            key(keys.order()),
            keys.due() == null
                ? dueAfter()
                : "pgonce.row_due((\n" + keys.due() + "\n)::timestamptz)",
            source(call),
            call.operation(),
            dependsOn,
            conditions.isEmpty() ? "" : "\n WHERE " + String.join(" AND ", conditions));
  }

  private String key(Keys.Key key) {
    if (key.expression() != null) {
      return "pgonce.given_key(to_json((\n" + key.expression() + "\n)) #>> '{}')";
    }
    // As the payload writes it, whatever the session has set. Not by a cast to text, which a role
    // could have made for a type of its own, and which would run with the rights of pgonce_owner.
    return key.columns().isEmpty()
        ? "NULL::text"
        : inRow(
            event.row(),
            key.columns(),
            names ->
                names.stream()
                    .map(name -> "to_json(" + name + ") #>> '{}'")
                    .collect(Collectors.joining(", ", "pgonce.row_key(", ")")),
            "NULL::text");
  }

  private String columnsOf(String row) {
    return content.selection() == Selection.ONLY
        ? inRow(row, content.columns(), names -> "row_to_json(pgonce_row.*)", "NULL::text")
        : "row_to_json(" + row + ".*)";
  }

  private interface Expression {
    String of(List<String> quotedNames);
  }

  private static final Expression ROW_OF = names -> "ROW(" + String.join(", ", names) + ")";

  /** An expression over columns of a row; one that is not there is what is given for it. */
  private static String inRow(
      String row, List<String> columns, Expression expression, String gone) {
    var names = columns.stream().map(Quoted::identifier).toList();
    return "(SELECT (SELECT %s FROM (SELECT %s FROM (SELECT %s.*) AS pgonce_all) AS pgonce_row) FROM (SELECT %s) AS pgonce_gone)"
        .formatted(
            expression.of(names),
            String.join(", ", names),
            row,
            names.stream().map(name -> gone + " AS " + name).collect(Collectors.joining(", ")));
  }

  /** The payload of these rows, as JSON. */
  private String payload(String before, String after, Call call) {
    if (content.kind() == Content.Kind.COMPUTED) {
      return "to_json((\n" + content.expression() + "\n))";
    }
    var old = selected(before, call);
    var now = selected(after, call);
    if (content.kind() == Content.Kind.ROW) {
      return event.hasNew() ? now : old;
    }
    return switch (event) {
      case INSERT -> "json_build_object('op', 'INSERT', 'new', %s)".formatted(now);
      case DELETE -> "json_build_object('op', 'DELETE', 'old', %s)".formatted(old);
      default -> "json_build_object('op', 'UPDATE', 'old', %s, 'new', %s)".formatted(old, now);
    };
  }

  private String selected(String row, Call call) {
    return switch (content.selection()) {
      case ALL, ONLY -> row;
      case WITHOUT ->
          "pgonce.row_without(%s, ARRAY[%s])"
              .formatted(
                  row,
                  content.columns().stream()
                      .map(Quoted::literal)
                      .collect(Collectors.joining(", ")));
      case PRIMARY_KEY ->
          "(SELECT json_object_agg(e.key, e.value) FROM json_each(%s) AS e WHERE e.key = ANY ((SELECT pgonce.primary_key(%s))::text[]))"
              .formatted(row, call.relation());
    };
  }

  /**
   * Of whose change a kept plan hears. Where no schema is given it is most likely public; where
   * not, no plan is kept.
   */
  private String qualifiedTable() {
    var table = capture.table();
    return Quoted.table(
        table.schema() == null ? new TableName(DEFAULT_SCHEMA, table.table()) : table);
  }

  private boolean isPerRow() {
    return trigger.form() != TriggerForm.STATEMENT;
  }

  private String dueAfter() {
    var us = capture.stored().keys().dueAfterUs();
    return us == 0
        ? "NULL::timestamptz"
        : "clock_timestamp() + interval '%d.%06d seconds'"
            .formatted(us / 1_000_000, us % 1_000_000);
  }

  // Both tables have the rows in the order in which they were changed, old and new one at the same
  // place (AfterTriggerSaveEvent appends to both). So a changed primary key is no trouble.
  private static final String PAIRS =
      "(SELECT row_number() OVER () AS place, pgonce_row FROM old_rows AS pgonce_row) AS o"
          + " JOIN (SELECT row_number() OVER () AS place, pgonce_row FROM new_rows AS pgonce_row) AS n USING (place)";

  private String table() {
    return event.row() + "_rows AS " + event.row();
  }

  /** Both rows by the names old and new: where there is none, all of its columns are null. */
  private String source(Call call) {
    if (event == Event.UPDATE) {
      return isPerRow()
          ? "(SELECT (%s).*) AS old CROSS JOIN (SELECT (%s).*) AS new"
              .formatted(call.old(), call.now())
          : trigger.pairs()
              ? PAIRS
                  + " CROSS JOIN LATERAL (SELECT (o.pgonce_row).*) AS old CROSS JOIN LATERAL (SELECT (n.pgonce_row).*) AS new"
              : table();
    }
    var there = event.row();
    var other = there.equals("new") ? "old" : "new";
    var rows =
        isPerRow()
            ? "(SELECT (%s).*)".formatted(there.equals("new") ? call.now() : call.old())
            : there + "_rows";
    return "%s AS %s LEFT JOIN %s AS %s ON false".formatted(rows, there, rows, other);
  }

  /** The table of the rows, for whoever looks at them once more; $1 where a row is passed. */
  String rows() {
    return isPerRow() ? "(SELECT ($1).*)" : event.row() + "_rows";
  }

  /** The row that it is about, as PL/pgSQL has it where it is called per row. */
  @Nullable String record() {
    return !isPerRow() ? null : event.hasNew() ? "NEW" : "OLD";
  }
}
