package org.pgonce.triggers.internal.definition;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.definition.Content.Selection;

/**
 * What one call of a trigger stores: payload, key, order_key and due_at of each row.
 *
 * <p>A column that was dropped or renamed must break no write. Where rows are stored whole, they
 * are passed whole. Where columns are named, each name is written so that it is null if there is no
 * such column: it is looked for in the row first, and then one level further out. They are not
 * looked for in the row's JSON: PostgreSQL reads all of a document for that, and fails at escapes
 * that text cannot hold, which a json column may have.
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
  private final boolean ofPlainTypes;

  CapturedRows(CaptureTrigger trigger) {
    this(trigger, false);
  }

  /**
   * @param ofPlainTypes whether the table is known to have none but PostgreSQL's own types when the
   *     query is run
   */
  CapturedRows(CaptureTrigger trigger, boolean ofPlainTypes) {
    this.trigger = trigger;
    this.ofPlainTypes = ofPlainTypes;
    this.capture = trigger.capture();
    this.content = capture.stored().content();
    this.event = trigger.event();
  }

  /** Whether it names columns, or has SQL that does. */
  boolean namesColumns() {
    var keys = capture.stored().keys();
    return event != Event.TRUNCATE
        && (content.selection() == Selection.ONLY
            || comparesSome()
            || !keys.delivery().isEmpty()
            || !keys.order().isEmpty()
            || !capture.expressions().isEmpty());
  }

  /** Whether it asks for the primary key that the table has when it is called. */
  boolean asksForPrimaryKey() {
    return event != Event.TRUNCATE && content.selection() == Selection.PRIMARY_KEY;
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

  /** The same for EXECUTE, which is given {@link #parameters}: of a row, by columns. */
  String queryOfParameters() {
    return byColumns(PARAMETERS);
  }

  /** What EXECUTE is given. */
  String parameters() {
    return "OLD, NEW, TG_OP" + (asksForPrimaryKey() ? ", " + VARIABLES.primaryKey() : "");
  }

  /** What PL/pgSQL has of a call. */
  private record Call(String old, String now, String operation, String primaryKey) {}

  private static final Call VARIABLES =
      new Call("OLD", "NEW", "TG_OP", CaptureBody.LABEL + ".primary_key");
  private static final Call PARAMETERS = new Call("$1", "$2", "$3", "$4");

  private String byWholeRows() {
    var old = trigger.pairs() ? "pair.before_row" : "old.*";
    var now = trigger.pairs() ? "pair.after_row" : "new.*";
    var json = new ArrayList<String>();
    if (trigger.readsOldTable()) {
      json.add(asJson(old) + " AS o");
    }
    if (event.hasNew()) {
      json.add(asJson(now) + " AS n");
    }
    return """
        SELECT %s AS payload, NULL::text AS key, NULL::text AS order_key, %s AS due_at
          FROM (SELECT %s FROM %s%s OFFSET 0) AS r"""
        .formatted(
            payload("r.o", "r.n", VARIABLES),
            dueAfter(),
            String.join(", ", json),
            trigger.pairs() ? PAIRS : table(),
            comparesAll() ? " WHERE " + differ(old, now) : "");
  }

  /** The same of one row, into the variables of a trigger per row. */
  String assignments() {
    var lines = new ArrayList<String>();
    if (comparesAll()) {
      lines.add("IF " + differ("OLD", "NEW") + " THEN");
    }
    if (trigger.readsOldTable()) {
      lines.add("old_json := pgonce.as_json(OLD);");
    }
    if (event.hasNew()) {
      lines.add("new_json := pgonce.as_json(NEW);");
    }
    lines.add("row_payload := %s;".formatted(payload("old_json", "new_json", VARIABLES)));
    if (capture.stored().keys().dueAfterUs() > 0) {
      lines.add("row_due_at := %s;".formatted(dueAfter()));
    }
    if (comparesAll()) {
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

  private List<String> changed() {
    var changed = capture.watch().changed();
    return changed == null ? List.of() : changed;
  }

  private String byColumns(Call call) {
    var keys = capture.stored().keys();
    return """
        SELECT %s AS payload, %s AS key, %s AS order_key, %s AS due_at
          FROM %s"""
        .formatted(
            payload(columnsOf("old"), columnsOf("new"), call),
            key(keys.delivery()),
            key(keys.order()),
            keys.due() == null ? dueAfter() : due(keys.due()),
            filtered(call, capture.watch().condition()));
  }

  /** The rows that are captured, by the names old and new. */
  private String filtered(Call call, @Nullable String condition) {
    var conditions = new ArrayList<String>();
    if (comparesAll()) {
      conditions.add(differ("old.*", "new.*"));
    } else if (comparesSome()) {
      // One that is not there counts as changed: better one too many.
      conditions.add(
          differ(
              inRow("old", changed(), ROW_OF, "'old'"), inRow("new", changed(), ROW_OF, "'new'")));
    }
    if (condition != null) {
      conditions.add("(\n" + condition + "\n)");
    }
    var dependsOn =
        isPerRow() && call.equals(VARIABLES)
            ? ", %s::regclass AS pgonce_table".formatted(Quoted.literal(qualifiedTable()))
            : "";
    return "%s CROSS JOIN (SELECT %s AS tg_op%s) AS event%s"
        .formatted(
            source(call),
            call.operation(),
            dependsOn,
            conditions.isEmpty() ? "" : "\n WHERE " + String.join(" AND ", conditions));
  }

  /**
   * A query for each expression of the definition that fails if it cannot be computed, by what it
   * is for. The condition comes first: the others are asked of rows that meet it.
   */
  Map<String, String> probes() {
    var probes = new LinkedHashMap<String, String>();
    var keys = capture.stored().keys();
    var call = isPerRow() ? PARAMETERS : VARIABLES;
    capture
        .expressions()
        .forEach(
            (what, sql) -> {
              var condition = sql.equals(capture.watch().condition()) && what.equals("condition");
              var value =
                  switch (what) {
                    case "payload" -> computed(sql);
                    case "delivery key" -> key(keys.delivery());
                    case "order key" -> key(keys.order());
                    case "due time" -> due(sql);
                    default -> "(\n" + sql + "\n)";
                  };
              probes.put(
                  what,
                  "count(%s) FROM %s"
                      .formatted(
                          value, filtered(call, condition ? null : capture.watch().condition())));
            });
    return probes;
  }

  private static String due(String sql) {
    return "pgonce.row_due((\n" + sql + "\n)::timestamptz)";
  }

  private static String computed(String sql) {
    return "pgonce.given_payload(pgonce.as_json((\n" + sql + "\n)))";
  }

  private String key(Keys.Key key) {
    if (key.expression() != null) {
      return "pgonce.given_key(pgonce.key_part(pgonce.as_json((\n" + key.expression() + "\n))))";
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
                    .map(name -> "pgonce.key_part(" + asJson(name) + ")")
                    .collect(Collectors.joining(", ", "pgonce.row_key(", ")")),
            "NULL::text");
  }

  private String columnsOf(String row) {
    return content.selection() == Selection.ONLY
        ? inRow(row, content.columns(), names -> asJson("pgonce_row.*"), "NULL::text")
        : asJson(row + ".*");
  }

  /**
   * A row or a column as JSON. Where the table has types that are not PostgreSQL's own, as a role
   * without rights, see pgonce.as_json: that costs some 4 microseconds.
   */
  private String asJson(String value) {
    return isPerRow()
        ? "pgonce.as_json(" + value + ")"
        : ofPlainTypes
            ? "to_json(" + value + ")"
            : "CASE WHEN %1$s.own_types THEN pgonce.as_json(%2$s) ELSE to_json(%2$s) END"
                .formatted(CaptureBody.LABEL, value);
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
    if (content.expression() != null) {
      return computed(content.expression());
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
      case PRIMARY_KEY -> "pgonce.row_only(%s, %s)".formatted(row, call.primaryKey());
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
  // place (AfterTriggerSaveEvent appends to both). So a changed primary key is no trouble. A kept
  // plan was made when the tables had a row or two: FULL, as that is never a nested loop, which
  // would take the square of their number. Where one has lost its other half nobody asks for them,
  // see CaptureTrial. A name alone could be a column; with a star it is the row. Of a query: a
  // dropped column is counted in a row of the table itself when it is run, and not when it is
  // planned.
  private static final String PAIRS =
      "(SELECT o.pgonce_row AS before_row, n.pgonce_row AS after_row"
          + " FROM (SELECT row_number() OVER () AS place, (t.*)::record AS pgonce_row FROM (SELECT t.* FROM old_rows AS t) AS t) AS o"
          + " FULL JOIN (SELECT row_number() OVER () AS place, (t.*)::record AS pgonce_row FROM (SELECT t.* FROM new_rows AS t) AS t) AS n USING (place) OFFSET 0) AS pair";

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
                  + " CROSS JOIN LATERAL (SELECT (pair.before_row).*) AS old CROSS JOIN LATERAL (SELECT (pair.after_row).*) AS new"
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

  /**
   * Per statement: whether each row is so small, and where two make one payload, each half that,
   * and each has its other half.
   */
  String areSurelyStorable() {
    var tables =
        trigger.readsOldTable() && event.hasNew() ? List.of("old", "new") : List.of(event.row());
    var small =
        tables.stream()
            .map(
                table ->
                    "NOT EXISTS (SELECT FROM %s_rows AS large WHERE pg_column_size(large.*) > %d)"
                        .formatted(table, CaptureTrial.SURELY_STORABLE / tables.size()))
            .collect(Collectors.joining(" AND "));
    return trigger.mayLoseHalves()
        ? small + " AND (SELECT count(*) FROM old_rows) = (SELECT count(*) FROM new_rows)"
        : small;
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
