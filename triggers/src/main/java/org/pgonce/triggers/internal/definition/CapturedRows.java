package org.pgonce.triggers.internal.definition;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.definition.Content.Selection;

/**
 * The query of what one call of a trigger stores: payload, key, order_key and due_at of each row.
 *
 * <p>A column that was dropped or renamed must break no write. Where rows are stored whole, columns
 * are looked up in their JSON. Where columns are named, each name is written so that it is null if
 * there is no such column: it is looked for in the row first, and then one level further out.
 *
 * <p>A trigger per row never has SQL that takes its row apart with a plan that is kept: PostgreSQL
 * does not notice that a column was retyped since, and the write would fail (18 and before). It
 * passes the row as a whole, or makes the plan anew.
 */
final class CapturedRows {

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

  String query() {
    if (event == Event.TRUNCATE) {
      return "SELECT '{\"op\":\"TRUNCATE\"}'::json AS payload, NULL::text AS key, NULL::text AS order_key, %s AS due_at"
          .formatted(dueAfter());
    }
    return namesColumns() ? byColumns() : byWholeRows();
  }

  private String byWholeRows() {
    var perRow = trigger.form() != TriggerForm.STATEMENT;
    var oldRecord = perRow ? "OLD" : trigger.pairs() ? "o.pgonce_row" : "old.*";
    var newRecord = perRow ? "NEW" : trigger.pairs() ? "n.pgonce_row" : "new.*";
    var json = new ArrayList<String>();
    if (event.hasOld() && (trigger.pairs() || event == Event.DELETE)) {
      json.add("row_to_json(%s) AS o".formatted(oldRecord));
    }
    if (event.hasNew()) {
      json.add("row_to_json(%s) AS n".formatted(newRecord));
    }
    var from = perRow ? "" : " FROM " + (trigger.pairs() ? PAIRS : table());
    var changed = capture.watch().changed();
    var inner = "";
    var outer = "";
    if (event == Event.UPDATE && changed != null) {
      if (changed.isEmpty()) {
        inner = " WHERE %s OPERATOR(pg_catalog.*<>) %s".formatted(oldRecord, newRecord);
      } else {
        // One that is not there counts as changed: better one too many.
        outer =
            changed.stream()
                .map(Quoted::literal)
                .map(
                    c ->
                        "r.n -> %1$s IS NULL OR r.o ->> %1$s IS DISTINCT FROM r.n ->> %1$s"
                            .formatted(c))
                .collect(Collectors.joining(" OR ", "\n WHERE ", ""));
      }
    }
    var row = event.hasNew() ? "r.n" : "r.o";
    var keys = capture.stored().keys();
    return """
        SELECT %s AS payload, %s AS key, %s AS order_key, %s AS due_at
          FROM (SELECT %s%s%s OFFSET 0) AS r%s"""
        .formatted(
            payload("r.o", "r.n"),
            keyOfJson(keys.delivery(), row),
            keyOfJson(keys.order(), row),
            dueAfter(),
            String.join(", ", json),
            from,
            inner,
            outer);
  }

  private static String keyOfJson(Keys.Key key, String row) {
    return key.columns().isEmpty()
        ? "NULL::text"
        : key.columns().stream()
            .map(column -> row + " ->> " + Quoted.literal(column))
            .collect(Collectors.joining(", ", "pgonce.row_key(", ")"));
  }

  private String byColumns() {
    var keys = capture.stored().keys();
    var conditions = new ArrayList<String>();
    var changed = capture.watch().changed();
    if (event == Event.UPDATE && changed != null) {
      conditions.add(
          changed.isEmpty()
              ? "old.* OPERATOR(pg_catalog.*<>) new.*"
              : "%s OPERATOR(pg_catalog.*<>) %s"
                  .formatted(
                      inRow("old", changed, ROW_OF, "'old'"),
                      inRow("new", changed, ROW_OF, "'new'")));
    }
    if (capture.watch().condition() != null) {
      conditions.add("(\n" + capture.watch().condition() + "\n)");
    }
    return """
        SELECT %s AS payload, %s AS key, %s AS order_key, %s AS due_at
          FROM %s CROSS JOIN (SELECT %s AS tg_op) AS event%s"""
        .formatted(
            payload(columnsOf("old"), columnsOf("new")),
            key(keys.delivery()),
            key(keys.order()),
            keys.due() == null
                ? dueAfter()
                : "pgonce.row_due((\n" + keys.due() + "\n)::timestamptz)",
            source(),
            perCall() ? "TG_OP" : "$3",
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
  private String payload(String before, String after) {
    if (content.kind() == Content.Kind.COMPUTED) {
      return "to_json((\n" + content.expression() + "\n))";
    }
    var old = selected(before);
    var now = selected(after);
    if (content.kind() == Content.Kind.ROW) {
      return event.hasNew() ? now : old;
    }
    return switch (event) {
      case INSERT -> "json_build_object('op', 'INSERT', 'new', %s)".formatted(now);
      case DELETE -> "json_build_object('op', 'DELETE', 'old', %s)".formatted(old);
      default -> "json_build_object('op', 'UPDATE', 'old', %s, 'new', %s)".formatted(old, now);
    };
  }

  private String selected(String row) {
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
              .formatted(row, perCall() ? "TG_RELID" : "$4");
    };
  }

  /** Whether it is a query of the function itself, and not made anew for each row. */
  boolean perCall() {
    return trigger.form() == TriggerForm.STATEMENT || !namesColumns();
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
  private String source() {
    var perRow = trigger.form() != TriggerForm.STATEMENT;
    if (event == Event.UPDATE) {
      return perRow
          ? "(SELECT ($1).*) AS old CROSS JOIN (SELECT ($2).*) AS new"
          : trigger.pairs()
              ? PAIRS
                  + " CROSS JOIN LATERAL (SELECT (o.pgonce_row).*) AS old CROSS JOIN LATERAL (SELECT (n.pgonce_row).*) AS new"
              : table();
    }
    var there = event.row();
    var other = there.equals("new") ? "old" : "new";
    var rows =
        perRow ? "(SELECT (%s).*)".formatted(there.equals("new") ? "$2" : "$1") : there + "_rows";
    return "%s AS %s LEFT JOIN %s AS %s ON false".formatted(rows, there, rows, other);
  }

  /** The table of the rows, for whoever looks at them once more; $1 where a row is passed. */
  String rows() {
    return trigger.form() == TriggerForm.STATEMENT ? event.row() + "_rows" : "(SELECT ($1).*)";
  }

  /** The row that it is about, as PL/pgSQL has it where it is called per row. */
  @Nullable String record() {
    return trigger.form() == TriggerForm.STATEMENT ? null : event.hasNew() ? "NEW" : "OLD";
  }
}
