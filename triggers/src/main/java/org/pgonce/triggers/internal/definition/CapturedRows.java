package org.pgonce.triggers.internal.definition;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.text.SqlToken;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;
import org.pgonce.triggers.internal.definition.Content.Selection;

/**
 * What one call of a trigger stores, as SQL: the rows it comes from, and the values of each.
 *
 * <p>Rows that are stored whole are passed whole. Where columns are named, a row is one of these
 * columns only, {@code old} or {@code new}. Each name is looked for in the row first, and then one
 * level further out, where it is null: so a column that was dropped or renamed since breaks no
 * write.
 */
public final class CapturedRows {

  // Both tables have the rows in the order in which they were changed, old and new one at the same
  // place (AfterTriggerSaveEvent appends to both). So a changed primary key is no trouble. FULL is
  // never a nested loop, which would take the square of the rows' number.
  private static final String PAIRS =
      """
      (SELECT o.pgonce_row AS old_row, n.pgonce_row AS new_row%s
              FROM (SELECT row_number() OVER () AS place, (t.*)::record AS pgonce_row FROM (SELECT t.* FROM old_rows AS t) AS t) AS o
              FULL JOIN (SELECT row_number() OVER () AS place, (t.*)::record AS pgonce_row FROM (SELECT t.* FROM new_rows AS t) AS t) AS n USING (place) OFFSET 0) AS pair""";

  // The rows of an insert or a delete, where a join could bring them in another order.
  private static final String NUMBERED =
      "(SELECT row_number() OVER () AS place, (t.*)::record AS %1$s_row FROM (SELECT t.* FROM %1$s_rows AS t) AS t OFFSET 0) AS pair";

  // What PostgreSQL folds of a name in UTF-8.
  private static final Pattern UPPER_CASE = Pattern.compile("[A-Z]+");

  private final CaptureTrigger trigger;
  private final Capture capture;
  private final Content content;
  private final Event event;
  private final WatchedTable table;
  private final Set<String> used;
  private final String newLine;

  /**
   * The rows of one trigger.
   *
   * @param newLine a line break, with what each line is indented by beyond that of a function
   */
  CapturedRows(CaptureTrigger trigger, String newLine) {
    this.trigger = trigger;
    this.newLine = newLine;
    this.capture = trigger.capture();
    this.content = capture.stored().content();
    this.event = trigger.event();
    this.table = trigger.table();
    this.used = event == Event.TRUNCATE ? Set.of() : columnsOfExpressions();
  }

  /** Whether it names columns, those of the primary key too, or has SQL that does. */
  boolean namesColumns() {
    var keys = capture.stored().keys();
    return event != Event.TRUNCATE
        && (!capture.expressions().isEmpty()
            || content.selection() != Selection.ALL
            || !changed().isEmpty()
            || !keys.delivery().isEmpty()
            || !keys.order().isEmpty()
            // The primary key of a dead letter.
            || capture.stored().unstorable() == Unstorable.DEAD_LETTER);
  }

  private Set<String> columnsOfExpressions() {
    var columns = new LinkedHashSet<String>();
    for (var sql : capture.expressions().values()) {
      var named = columnsIn(sql);
      columns.addAll(named == null ? seenColumns() : named);
    }
    return columns;
  }

  /** The columns that SQL over old and new names; null if it takes such a row as a whole. */
  public static @Nullable Set<String> columnsIn(String sql) {
    var tokens = SqlToken.meaningful(sql);
    var columns = new LinkedHashSet<String>();
    for (var i = 0; i < tokens.size(); i++) {
      var isField = i > 0 && tokens.get(i - 1).is(".");
      if (isField || !(isRow(tokens.get(i), "old") || isRow(tokens.get(i), "new"))) {
        continue;
      }
      var name = i + 2 < tokens.size() && tokens.get(i + 1).is(".") ? tokens.get(i + 2) : null;
      if (name == null
          || !(name.kind() == SqlToken.Kind.WORD || name.kind() == SqlToken.Kind.IDENTIFIER)) {
        return null;
      }
      columns.add(
          name.kind() == SqlToken.Kind.WORD
              ? UPPER_CASE
                  .matcher(name.text())
                  .replaceAll(letters -> letters.group().toLowerCase(Locale.ROOT))
              : name.content().replace("\"\"", "\""));
    }
    return columns;
  }

  private static boolean isRow(SqlToken token, String row) {
    return token.is(row) || token.is(Quoted.identifier(row));
  }

  private List<String> selected() {
    return switch (content.selection()) {
      case ALL -> List.of();
      case ONLY -> content.columns();
      case WITHOUT ->
          seenColumns().stream().filter(column -> !content.columns().contains(column)).toList();
      case PRIMARY_KEY -> table.primaryKey();
    };
  }

  private List<String> seenColumns() {
    return table.seenColumns().stream().map(Column::name).toList();
  }

  private List<String> changed() {
    var changed = capture.filter().changed();
    return changed == null ? List.of() : changed;
  }

  private boolean isPerRow() {
    return trigger.form() != TriggerForm.STATEMENT;
  }

  /** A row as one value. With a star, since a name alone could be a column. */
  private String whole(String row) {
    return isPerRow() && !namesColumns()
        ? row.toUpperCase(Locale.ROOT)
        : isPair() || isNumbered() ? "pair." + row + "_row" : row + "_row.*";
  }

  private boolean isPair() {
    return trigger.pairs() && !isPerRow();
  }

  /**
   * Whether rows with an order key have numbers, to be stored by: a join may bring them in another
   * order. A hash join does where its hash does not fit into memory at once. Such are the join of
   * an update's rows, and that with what a condition reads.
   */
  private boolean isNumbered() {
    return !capture.stored().keys().order().isEmpty()
        && event != Event.TRUNCATE
        && !isPerRow()
        && (isPair() || conditionMayBeJoined());
  }

  private boolean conditionMayBeJoined() {
    var condition = capture.filter().condition();
    return condition != null
        && SqlToken.meaningful(condition).stream()
            .anyMatch(token -> token.is("select") || token.is("values") || token.is("table"));
  }

  /** A row as a list of its columns. */
  private String star(String row) {
    return isPair() || isNumbered() ? "(" + whole(row) + ").*" : whole(row);
  }

  private boolean isThere(String row) {
    return row.equals("new")
        ? event.hasNew()
        : isPerRow() ? event.hasOld() : trigger.readsOldTable();
  }

  /**
   * The from list; empty where a row comes as OLD or NEW.
   *
   * @param watched the object id of the table
   */
  String from(String watched) {
    var parts = new ArrayList<String>();
    if (event == Event.TRUNCATE) {
      return "";
    }
    if (isPair()) {
      parts.add(PAIRS.formatted(isNumbered() ? ", place" : "").replace("\n", newLine));
    } else if (isNumbered()) {
      parts.add(NUMBERED.formatted(event.row()));
    } else if (!isPerRow()) {
      parts.add("%1$s_rows AS %1$s_row".formatted(event.row()));
    } else if (namesColumns()) {
      Stream.of("old", "new").filter(this::isThere).forEach(row -> parts.add(record(row)));
      if (table.isKnown()) {
        // A plan that is kept is made anew when a table is altered that it has as a constant.
        // PostgreSQL (18 and before) does not notice by itself that a column of OLD or NEW was
        // retyped. By its number, since a name that leads nowhere any more would fail the write.
        parts.add("(SELECT '%s'::regclass OFFSET 0) AS watched".formatted(watched));
      }
    }
    Stream.of("old", "new").filter(this::isNamed).forEach(row -> parts.add(row(row)));
    var keys = new ColumnKey(table, star(event.row()));
    var stored = capture.stored().keys();
    parts.addAll(keys.from(stored.delivery().columns(), "pgonce_delivery"));
    parts.addAll(keys.from(stored.order().columns(), "pgonce_order"));
    return String.join("," + newLine + "         ", parts);
  }

  private boolean isNamed(String row) {
    return capture.expressions().values().stream()
        .flatMap(sql -> SqlToken.of(sql).stream())
        .anyMatch(token -> isRow(token, row));
  }

  private static String record(String row) {
    return "(SELECT (%s).*) AS %s_row".formatted(row.toUpperCase(Locale.ROOT), row);
  }

  /**
   * One with the columns that expressions name. Where there is no such row it is the other one,
   * joined to nothing: so its nulls are of the types that the columns have at the time, and no type
   * is named that may be renamed, or a domain that refuses null.
   */
  private String row(String name) {
    return isThere(name)
        ? "LATERAL (%s) AS %s".formatted(usedOf(name), name)
        : "LATERAL (SELECT pgonce_none.* FROM (SELECT) AS pgonce_one LEFT JOIN LATERAL (%s) AS pgonce_none ON false) AS %s"
            .formatted(usedOf(event.row()), name);
  }

  // The nulls are in a scope of their own. Beside the other row a column that is gone would be
  // ambiguous, since that has it too.
  private String usedOf(String row) {
    var names = used.stream().map(Quoted::identifier).collect(Collectors.joining(", "));
    var gone =
        used.stream()
            .map(column -> "NULL::" + typeOf(column) + " AS " + Quoted.identifier(column))
            .collect(Collectors.joining(", "));
    return "SELECT pgonce_row.* FROM (SELECT %s) AS pgonce_gone, LATERAL (SELECT %s FROM (SELECT %s) AS pgonce_all) AS pgonce_row"
        .formatted(gone, names, star(row));
  }

  /**
   * Of an enum its name if the SQL has it anyway, as in 'sad'::mood, which has no text beside it.
   */
  private String typeOf(String column) {
    var type = table.typeOf(column);
    var word = type.substring(type.lastIndexOf('.') + 1).replace("[]", "");
    return table.isEnum(column) && hasTypeNamed(word) ? type : table.plainTypeOf(column);
  }

  private boolean hasTypeNamed(String word) {
    return capture.expressions().values().stream()
        .map(SqlToken::meaningful)
        .anyMatch(
            tokens ->
                IntStream.range(0, tokens.size())
                    .filter(i -> tokens.get(i).is(word))
                    .anyMatch(i -> !isColumn(tokens, i)));
  }

  /** Behind new or old and a point. */
  private static boolean isColumn(List<SqlToken> tokens, int at) {
    var row = at < 2 || !tokens.get(at - 1).is(".") ? null : tokens.get(at - 2);
    return row != null && (isRow(row, "old") || isRow(row, "new"));
  }

  /** An expression over columns of a row; a column that is not there is what is given for it. */
  private String inRow(String row, List<String> columns, Expression expression, String gone) {
    var names = columns.stream().map(Quoted::identifier).toList();
    return "(SELECT (SELECT %s FROM (SELECT %s FROM (SELECT %s) AS pgonce_all) AS pgonce_row) FROM (SELECT %s) AS pgonce_gone)"
        .formatted(
            expression.of(names),
            String.join(", ", names),
            star(row),
            names.stream().map(name -> gone + " AS " + name).collect(Collectors.joining(", ")));
  }

  private interface Expression {
    String of(List<String> quotedNames);
  }

  /** The where clause; empty if all rows are captured. */
  String where() {
    var conditions = new ArrayList<String>();
    if (event == Event.UPDATE && capture.filter().changed() != null) {
      // A column that is not there any more counts as changed: better one too many.
      Expression row = names -> "ROW(" + String.join(", ", names) + ")";
      conditions.add(
          changed().isEmpty()
              ? whole("old") + " *<> " + whole("new")
              : inRow("old", changed(), row, "'old'")
                  + " *<> "
                  + inRow("new", changed(), row, "'new'"));
    }
    var condition = capture.filter().condition();
    if (condition != null && event != Event.TRUNCATE) {
      conditions.add("(\n" + condition + "\n)");
    }
    if (trigger.mayLoseHalves()) {
      // Nobody knows which belong together then, see TriggerForm.STATEMENT.
      conditions.add(
          "pgonce.require_pairs((SELECT count(*) FROM old_rows), (SELECT count(*) FROM new_rows))");
    }
    return conditions.isEmpty() ? "" : newLine + "   WHERE " + String.join(" AND ", conditions);
  }

  /** The order in which the rows are stored; empty if they come in that of their change. */
  String order() {
    return isNumbered() ? newLine + "   ORDER BY pair.place" : "";
  }

  String payload() {
    if (event == Event.TRUNCATE) {
      return "'{\"op\":\"TRUNCATE\"}'::json";
    }
    if (content.expression() != null) {
      return "pgonce.given_payload(to_json((\n" + content.expression() + "\n)))";
    }
    var old = asJson("old");
    var now = asJson("new");
    if (content.kind() == Content.Kind.ROW) {
      return event.hasNew() ? now : old;
    }
    return switch (event) {
      case INSERT -> "json_build_object('op', 'INSERT', 'new', %s)".formatted(now);
      case DELETE -> "json_build_object('op', 'DELETE', 'old', %s)".formatted(old);
      default -> "json_build_object('op', 'UPDATE', 'old', %s, 'new', %s)".formatted(old, now);
    };
  }

  private String asJson(String row) {
    return content.selection() == Selection.ALL
        ? "row_to_json(" + whole(row) + ")"
        : columnsAsJson(row, selected());
  }

  private String columnsAsJson(String row, List<String> columns) {
    return inRow(row, columns, names -> "row_to_json(pgonce_row.*)", "NULL::text");
  }

  /** What a dead letter shows of a row that cannot be stored: of its key what may be stored. */
  String primaryKey() {
    // A cast to json of a user's type may be what failed. These have a schema in their names.
    var shown =
        table.primaryKey().stream()
            .filter(column -> content.shows(column) && !table.typeOf(column).contains("."))
            .toList();
    var row = trigger.mayLoseHalves() ? "old" : event.row();
    var key = shown.isEmpty() ? "'{}'::json" : columnsAsJson(row, shown);
    return content.kind() == Content.Kind.CHANGE
        ? "json_build_object('op', '%s', '%s', %s)".formatted(event, row, key)
        : key;
  }

  /** What is tried before anything is stored. */
  String tried() {
    return Stream.of(payload(), deliveryKey(), orderKey(), due())
        .filter(value -> !value.startsWith("NULL::"))
        .map(value -> "count(" + value + ")")
        .collect(Collectors.joining(", "));
  }

  String deliveryKey() {
    return key(capture.stored().keys().delivery(), "pgonce_delivery");
  }

  String orderKey() {
    return key(capture.stored().keys().order(), "pgonce_order");
  }

  private String key(Keys.Key key, String name) {
    if (event == Event.TRUNCATE || key.isEmpty()) {
      return "NULL::text";
    }
    if (key.expression() != null) {
      return "pgonce.given_key((\n" + key.expression() + "\n)::text)";
    }
    return name + ".key";
  }

  String due() {
    var keys = capture.stored().keys();
    if (keys.due() != null && event != Event.TRUNCATE) {
      return "pgonce.given_due((\n" + keys.due() + "\n)::timestamptz)";
    }
    var us = keys.dueAfterUs();
    return us == 0
        ? "NULL::timestamptz"
        : "clock_timestamp() + interval '%s seconds'".formatted(BigDecimal.valueOf(us, 6));
  }
}
