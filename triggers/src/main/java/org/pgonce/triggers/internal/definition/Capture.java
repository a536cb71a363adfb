package org.pgonce.triggers.internal.definition;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.Unstorable;

/**
 * What is captured, and for which channel: the definition that all DDL is made from.
 *
 * @param rowType what a row is decoded to; null where the payload is computed
 */
public record Capture(
    String channel,
    Mode mode,
    TableName table,
    @Nullable Class<?> rowType,
    CaptureFilter filter,
    Stored stored) {

  /**
   * What is stored of each change.
   *
   * @param byKey whether each notification has an order key: one of its own where none is given
   * @param rules by which it is read; each row knows their version
   */
  public record Stored(
      Content content, Keys keys, Unstorable unstorable, boolean byKey, PayloadRules rules) {}

  /** What feeds the channel: for example {@code trigger on author}. */
  public String feed() {
    return "trigger on " + table;
  }

  /** For example {@code trigger after insert or delete on author}. */
  public String description() {
    return "trigger after "
        + events().stream()
            .map(event -> event.name().toLowerCase(Locale.ROOT))
            .collect(Collectors.joining(" or "))
        + " on "
        + table;
  }

  /** In one order. */
  public List<Event> events() {
    return filter.events().stream().sorted(Comparator.naturalOrder()).toList();
  }

  /**
   * The function that all of its triggers run, with these.
   *
   * @param table as it is
   */
  public CaptureFunction function(WatchedTable table) {
    return function(table, table.form().isOfSeveral());
  }

  /**
   * The same for whichever relations of the table.
   *
   * @param ofSeveral whether rows of it are written by names of other tables too
   */
  CaptureFunction function(WatchedTable table, boolean ofSeveral) {
    return new CaptureFunction(
        this,
        table,
        events().stream()
            .map(event -> new CaptureTrigger(this, event, form(event, ofSeveral), table))
            .toList());
  }

  private TriggerForm form(Event event, boolean ofSeveral) {
    var requested = filter.form();
    if (event == Event.TRUNCATE) {
      return TriggerForm.STATEMENT;
    }
    if (requested != null) {
      return requested;
    }
    var listed = event == Event.UPDATE && !filter.updateOf().isEmpty();
    return ofSeveral || listed ? TriggerForm.ROW : TriggerForm.STATEMENT;
  }

  /** Each column that the definition names, with what for; a record's are not among them. */
  public Map<String, String> columnUses() {
    var uses = new LinkedHashMap<>(stored.keys().uses());
    filter.updateOf().forEach(column -> uses.merge(column, "event", Capture::and));
    if (filter.changed() != null) {
      filter.changed().forEach(column -> uses.merge(column, "comparison", Capture::and));
    }
    stored.content().columns().forEach(column -> uses.merge(column, "payload", Capture::and));
    return uses;
  }

  private static String and(String one, String other) {
    return one + " and " + other;
  }

  /** Each SQL expression of the definition, by what it is for. */
  public Map<String, String> expressions() {
    var expressions = new LinkedHashMap<String, String>();
    if (filter.condition() != null) {
      expressions.put("condition", filter.condition());
    }
    if (stored.content().expression() != null) {
      expressions.put("payload", stored.content().expression());
    }
    expressions.putAll(stored.keys().expressions());
    return expressions;
  }
}
