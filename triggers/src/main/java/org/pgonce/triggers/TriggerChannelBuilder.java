package org.pgonce.triggers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.fit.RecordFit;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFilter;
import org.pgonce.triggers.internal.definition.Content;
import org.pgonce.triggers.internal.definition.Content.Selection;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.definition.Keys;

/**
 * Defines a {@link TriggerChannel}. Triggers run AFTER the event and never before: a BEFORE trigger
 * can swallow the writer's row, and fires for rows that ON CONFLICT then drops. Not safe for use by
 * several threads.
 *
 * <p>SQL that is given here ({@link #when}, {@link #dueAt} and others) is one expression over the
 * rows {@code old} and {@code new} and the text {@code tg_op}; where there is no such row, its
 * columns are null. So is a column that was dropped or renamed, and one that was added counts once
 * the channel is installed again.
 *
 * <p>It is part of a function that runs with the rights of the table's owner, whoever writes, or of
 * the role that installs the channel where that one cannot act as the owner. Its search path is
 * {@code pg_catalog}, its time zone UTC: what is not PostgreSQL's own needs its schema's name, and
 * that role the rights on it (USAGE on the schema, EXECUTE on the function). Whoever owns a
 * function that is called here, or a cast to json of a column's type, runs SQL with those rights at
 * each write. Whether it can be computed with them is looked at when the channel is installed, and
 * by a listener that starts as far as its own rights allow; for rows for which it fails later, see
 * {@link #unstorable}. With {@link Unstorable#DEAD_LETTER} it is computed twice: give none then
 * that counts or makes up values, such as nextval.
 *
 * @param <T> the payload
 */
public final class TriggerChannelBuilder<T> {

  private final TableName table;
  private final PayloadForm<T> payload;
  private final @Nullable Class<?> rowType;
  private final EnumSet<Event> events = EnumSet.noneOf(Event.class);
  private List<String> updateOf = List.of();
  private @Nullable List<String> changed;
  private @Nullable String condition;
  private @Nullable TriggerForm form;
  private @Nullable String name;
  private Mode mode = Mode.EXACTLY_ONCE;
  private ChannelOptions options = ChannelOptions.DEFAULT;
  private Content content;
  private Keys keys = Keys.NONE;
  private Unstorable unstorable = Unstorable.FAIL_WRITE;

  TriggerChannelBuilder(
      TableName table, PayloadForm<T> payload, @Nullable Class<?> rowType, Content content) {
    this.table = Objects.requireNonNull(table, "table");
    this.payload = Objects.requireNonNull(payload, "payload");
    this.rowType = rowType;
    this.content = Objects.requireNonNull(content, "content");
  }

  /** One notification per inserted row, whichever statement inserted it (COPY and MERGE too). */
  public TriggerChannelBuilder<T> afterInsert() {
    events.add(Event.INSERT);
    return this;
  }

  /**
   * One notification per updated row, whichever statement updated it: ON CONFLICT DO UPDATE, MERGE
   * and the cascades of foreign keys too. A row that moves from one partition to another was
   * deleted and inserted, as PostgreSQL sees it with a trigger per row. Where a trigger per
   * statement was asked for, see {@link TriggerForm#STATEMENT}.
   */
  public TriggerChannelBuilder<T> afterUpdate() {
    events.add(Event.UPDATE);
    return this;
  }

  /**
   * The same for statements only that set one of these columns, be it to the value that it has
   * ({@code UPDATE OF}). The trigger is one per row then, and PostgreSQL refuses to drop such a
   * column, or to give it another type, before the channel is dropped. {@link #onlyIfChanged} has
   * neither drawback.
   *
   * @param columns names of columns in the database, or of components of the record that read them
   */
  public TriggerChannelBuilder<T> afterUpdateOf(String... columns) {
    updateOf = columns("afterUpdateOf", columns);
    return afterUpdate();
  }

  /**
   * One notification per deleted row, with the row as it was. A channel whose payload is a plain
   * row could not tell it from an inserted one: {@link TriggerChannel#changesOf} can.
   */
  public TriggerChannelBuilder<T> afterDelete() {
    events.add(Event.DELETE);
    return this;
  }

  /**
   * One notification per TRUNCATE, also by CASCADE; only for {@link TriggerChannel#changesOf}. It
   * has no row: conditions and keys are not asked for. A TRUNCATE of a partition by its own name,
   * or of a table that inherits from this one, makes none.
   */
  public TriggerChannelBuilder<T> afterTruncate() {
    events.add(Event.TRUNCATE);
    return this;
  }

  /**
   * Of the updates only those that gave one of these columns, or any column if none is named,
   * another value. Values are compared as they are stored: 1.0 and 1.00 are two. A column that is
   * not there any more counts as changed.
   *
   * @param columns as for {@link #afterUpdateOf}
   */
  public TriggerChannelBuilder<T> onlyIfChanged(String... columns) {
    changed =
        Objects.requireNonNull(columns, "columns").length == 0
            ? List.of()
            : columns("onlyIfChanged", columns);
    return this;
  }

  /**
   * Only where this is true: for example {@code new.total > 100 and old.state is distinct from
   * new.state}.
   */
  public TriggerChannelBuilder<T> when(String condition) {
    this.condition = SqlText.requireExpression("condition", condition);
    return this;
  }

  /**
   * Stores these columns of a row and no other: one that is added later, or that is secret, is not
   * stored. One that is dropped or renamed is null from then on, and the start of a listener says
   * so. They go by their names: another column that gets one of these is stored in its place.
   *
   * @param columns as for {@link #afterUpdateOf}
   */
  public TriggerChannelBuilder<T> columns(String... columns) {
    return select(Selection.ONLY, columns("columns", columns));
  }

  /**
   * Stores all columns of a row but these: those that the table has when the channel is installed,
   * by their names, as with {@link #columns}. So a secret column that is renamed is still not
   * stored, unless it gets the name of another one. One that is dropped or renamed is null, and one
   * that is added is not stored, until the channel is installed again, which {@link Triggers#check}
   * advises.
   *
   * @param columns as for {@link #afterUpdateOf}
   */
  public TriggerChannelBuilder<T> withoutColumns(String... columns) {
    return select(Selection.WITHOUT, columns("withoutColumns", columns));
  }

  /**
   * Stores the columns of the primary key and no other; not those that its index only includes. A
   * table without one is refused. It is the key that the table has when the channel is installed:
   * where another one comes later, the columns of the former one are stored until the channel is
   * installed again, which {@link Triggers#check} advises.
   */
  public TriggerChannelBuilder<T> primaryKeyOnly() {
    return select(Selection.PRIMARY_KEY, List.of());
  }

  private TriggerChannelBuilder<T> select(Selection selection, List<String> columns) {
    if (content.kind() == Content.Kind.COMPUTED) {
      throw new IllegalArgumentException(
          "the payload is computed, so no columns are selected for it: name them in the expression");
    }
    if (content.selection() != Selection.ALL) {
      throw new IllegalArgumentException(
          "which columns are stored is said twice: say it with one of columns, withoutColumns and primaryKeyOnly");
    }
    content = content.withSelection(selection, columns);
    return this;
  }

  /** How the triggers fire. By default the library chooses, see {@link TriggerForm}. */
  public TriggerChannelBuilder<T> form(TriggerForm form) {
    this.form = Objects.requireNonNull(form, "form");
    return this;
  }

  /** What becomes of rows that cannot be stored. Default {@link Unstorable#FAIL_WRITE}. */
  public TriggerChannelBuilder<T> unstorable(Unstorable unstorable) {
    this.unstorable = Objects.requireNonNull(unstorable, "unstorable");
    return this;
  }

  /**
   * The channel's name, as {@link Channel#name()} allows. Default the table's name as it was given,
   * then what happens to it: {@code author_inserted}, {@code app.author_deleted}, and {@code
   * author_changed} where several events are captured.
   */
  public TriggerChannelBuilder<T> named(String name) {
    this.name = Objects.requireNonNull(name, "name");
    return this;
  }

  /** What the channel promises. Default {@link Mode#EXACTLY_ONCE}. */
  public TriggerChannelBuilder<T> mode(Mode mode) {
    this.mode = Objects.requireNonNull(mode, "mode");
    return this;
  }

  /**
   * What it is installed with beside. Default {@link ChannelOptions#DEFAULT}. The version of its
   * {@link org.pgonce.PayloadRules} is part of the trigger's function: install the channel when it
   * changes. They are about a row, also where the payload has two of them, and columns that they
   * rename are read by components of the new name.
   */
  public TriggerChannelBuilder<T> options(ChannelOptions options) {
    this.options = Objects.requireNonNull(options, "options");
    return this;
  }

  /**
   * The columns that make the delivery key of a row, as {@link org.pgonce.DeliveryKey#of} makes it
   * of their values in the payload. A row whose key is there already is written all the same, and
   * not published; see {@link org.pgonce.PublishOptions#deliveryKey()} for how long that is. A row
   * that has null in one of the columns has no key, and a key that is longer than 500 characters is
   * its SHA-256 instead. Once a column is renamed or dropped, rows are published without keys until
   * the channel is installed with columns that are there; the start of a listener says so.
   *
   * <p>Keys are unique, so writers meet as they do at a unique index of their own. Where another
   * transaction has inserted the same key and not yet ended, the writer waits for that one. Keys
   * are taken in the order in which rows are written. Two transactions that write the same keys in
   * another order, be it in one statement each, can wait for each other, and PostgreSQL ends one
   * (40P01): write many rows in the order of their keys. At REPEATABLE READ or SERIALIZABLE, a key
   * that another transaction has inserted, or taken over, since the snapshot was taken fails the
   * writer (40001). Both undo the whole transaction: run it again, as after any other deadlock or
   * serialization failure. At READ COMMITTED, a transaction that writes one row meets neither.
   *
   * @param columns as for {@link #afterUpdateOf}
   * @throws IllegalArgumentException if there is none
   */
  public TriggerChannelBuilder<T> deliveryKey(String... columns) {
    keys = keys.withDelivery(new Keys.Key(columns("deliveryKey", columns), null));
    return this;
  }

  /**
   * The same, computed: {@code 'campaign:' || new.campaign_id}. The value is the key as it is; null
   * and the empty text are none.
   */
  public TriggerChannelBuilder<T> deliveryKeySql(String expression) {
    var sql = SqlText.requireExpression("delivery key", expression);
    keys = keys.withDelivery(new Keys.Key(List.of(), sql));
    return this;
  }

  /**
   * The columns that make the order key of a row, in the same way: the key that an order or a limit
   * goes by. Only for a channel that has one of the two, see {@link org.pgonce.KeyOrder} and {@link
   * ChannelOptions#maxPerKey()}.
   *
   * @param columns as for {@link #afterUpdateOf}
   * @throws IllegalArgumentException if there is none
   */
  public TriggerChannelBuilder<T> orderKey(String... columns) {
    keys = keys.withOrder(new Keys.Key(columns("orderKey", columns), null));
    return this;
  }

  /** The same, computed, as for {@link #deliveryKeySql}. */
  public TriggerChannelBuilder<T> orderKeySql(String expression) {
    var sql = SqlText.requireExpression("order key", expression);
    keys = keys.withOrder(new Keys.Key(List.of(), sql));
    return this;
  }

  /**
   * When a notification is due: for example {@code new.created_at + interval '6 hours'}. Null and
   * the past are now; infinity, which never comes, cannot be stored, see {@link #unstorable}.
   *
   * <p>It is computed in UTC, whatever zone the writer's session has. A {@code timestamp} without
   * time zone, or a {@code date}, would be taken for UTC, so such an expression is refused: say
   * which zone it is of, as in {@code new.created_at AT TIME ZONE 'America/New_York' + interval '6
   * hours'}. A text that names no zone is UTC.
   */
  public TriggerChannelBuilder<T> dueAt(String expression) {
    keys = keys.withDue(SqlText.requireExpression("due time", expression), 0);
    return this;
  }

  /**
   * How long after it is stored a notification is due, by the database's clock.
   *
   * @param delay not negative, to the microsecond; what is longer than some 292,000 years is as
   *     long
   */
  public TriggerChannelBuilder<T> dueAfter(Duration delay) {
    if (Objects.requireNonNull(delay, "delay").isNegative()) {
      throw new IllegalArgumentException("a delay cannot be negative: " + delay);
    }
    keys = keys.withDue(null, TimeUnit.MICROSECONDS.convert(delay));
    return this;
  }

  private List<String> columns(String what, String... columns) {
    if (Objects.requireNonNull(columns, what).length == 0) {
      throw new IllegalArgumentException(what + " needs at least one column");
    }
    return Stream.of(columns)
        .map(column -> column(Objects.requireNonNull(column, "a column")))
        .distinct()
        .toList();
  }

  private String column(String given) {
    return rowType == null ? given : RecordFit.column(rowType, given);
  }

  /**
   * The channel.
   *
   * @throws IllegalArgumentException if the name is not one that a channel can have, or what is
   *     asked for does not go together
   * @throws IllegalStateException if nothing says when the trigger fires
   */
  public TriggerChannel<T> build() {
    if (events.isEmpty()) {
      throw new IllegalStateException(
          "the channel on table "
              + table
              + " has no event: call afterInsert(), afterUpdate(), afterDelete() or afterTruncate() before build()");
    }
    var channel = Channel.of(name == null ? defaultName() : name, payload.type(), mode, options);
    for (var contradiction : contradictions()) {
      throw new IllegalArgumentException("the channel on table " + table + " " + contradiction);
    }
    var filter = new CaptureFilter(events, updateOf, changed, condition, form);
    var byKey = options.goesByKey();
    var stored = new Capture.Stored(content, keys, unstorable, byKey, options.payload());
    var capture = new Capture(channel.name(), mode, table, rowType, filter, stored);
    return new TriggerChannel<>(capture, channel, payload);
  }

  private List<String> contradictions() {
    var found = new ArrayList<String>();
    if (mode == Mode.BROADCAST && !keys.isEmpty()) {
      found.add(
          "is a BROADCAST, which stores nothing, so it has no delivery key, order key or due time: take another mode, or leave them out");
    }
    if (!keys.order().isEmpty() && !options.goesByKey()) {
      found.add(
          "has an order key but keeps no order and has no limit per key: give options(…withOrder(…)) or options(…withMaxPerKey(…)), or leave the key out");
    }
    if (content.kind() == Content.Kind.ROW && events.contains(Event.DELETE) && events.size() > 1) {
      found.add(
          "could not tell a deleted row from another one: begin it with TriggerChannel.changesOf, or make a channel of each");
    }
    if (content.kind() != Content.Kind.CHANGE && events.contains(Event.TRUNCATE)) {
      found.add("captures TRUNCATE, which has no row: begin it with TriggerChannel.changesOf");
    }
    if (changed != null && !events.contains(Event.UPDATE)) {
      found.add("asks onlyIfChanged, but captures no update: call afterUpdate()");
    }
    if (form == TriggerForm.DEFERRED
        && options.subscriptions().values().stream().anyMatch(filter -> !filter.isEmpty())) {
      found.add(
          "has a subscription with a filter and a deferred trigger, which reads the context that the writer's transaction has at its end, not that of the write: leave the filter out, or take TriggerForm.ROW");
    }
    if (form == TriggerForm.STATEMENT && !updateOf.isEmpty()) {
      found.add(
          "asks afterUpdateOf with a trigger per statement, which PostgreSQL does not have with its rows: take TriggerForm.ROW, or onlyIfChanged");
    }
    return found;
  }

  private String defaultName() {
    var schema = table.schema();
    var event = events.size() > 1 ? "changed" : events.iterator().next().past();
    var byDefault = (schema == null ? "" : schema + ".") + table.table() + "_" + event;
    try {
      return ChannelNames.requireValid("channel", byDefault);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          e.getMessage() + ". It was made of the table's name: give the channel one by named(…)",
          e);
    }
  }
}
