package org.pgonce.triggers;

import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.definition.KeyColumns;
import org.pgonce.triggers.internal.fit.RecordFit;

/**
 * Defines a {@link TriggerChannel}. Triggers run AFTER the event and never before: a BEFORE trigger
 * can swallow the writer's row, and fires for rows that ON CONFLICT then drops. Not safe for use by
 * several threads.
 *
 * @param <T> the new row
 */
public final class TriggerChannelBuilder<T> {

  private final TableName table;
  private final Class<T> rowType;
  private final EnumSet<Event> events = EnumSet.noneOf(Event.class);
  private @Nullable String name;
  private Mode mode = Mode.EXACTLY_ONCE;
  private ChannelOptions options = ChannelOptions.DEFAULT;
  private KeyColumns keys = KeyColumns.NONE;

  TriggerChannelBuilder(TableName table, Class<T> rowType) {
    this.table = Objects.requireNonNull(table, "table");
    this.rowType = Objects.requireNonNull(rowType, "rowType");
  }

  /** One notification per inserted row, whichever statement inserted it (COPY and MERGE too). */
  public TriggerChannelBuilder<T> afterInsert() {
    events.add(Event.INSERT);
    return this;
  }

  /**
   * The channel's name, as {@link Channel#name()} allows. Default the table's name as it was given,
   * then {@code _inserted}: {@code author_inserted}, {@code app.author_inserted}.
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

  /** What it is installed with beside. Default {@link ChannelOptions#DEFAULT}. */
  public TriggerChannelBuilder<T> options(ChannelOptions options) {
    this.options = Objects.requireNonNull(options, "options");
    return this;
  }

  /**
   * The columns that make the delivery key of a row, as {@link org.pgonce.DeliveryKey#of} makes it
   * of their values in the payload. A row whose key is there already is written all the same, and
   * not published; see {@link org.pgonce.PublishOptions#deliveryKey()} for how long that is. The
   * writer never fails by it, but where another transaction has inserted the same key and not yet
   * ended, it waits for that one. A row that has null in one of the columns has no key, and a key
   * that is longer than 500 characters is its SHA-256 instead. Once a column is renamed or dropped,
   * rows are published without keys until the channel is mended; the start of a listener says so.
   *
   * @param columns names of columns in the database, or of components of the record that read them
   * @throws IllegalArgumentException if there is none
   */
  public TriggerChannelBuilder<T> deliveryKey(String... columns) {
    keys = new KeyColumns(columns("deliveryKey", columns), keys.order());
    return this;
  }

  /**
   * The columns that make the order key of a row, in the same way; only for a channel that has an
   * order, see {@link org.pgonce.KeyOrder}.
   *
   * @param columns as for {@link #deliveryKey}
   * @throws IllegalArgumentException if there is none
   */
  public TriggerChannelBuilder<T> orderKey(String... columns) {
    keys = new KeyColumns(keys.delivery(), columns("orderKey", columns));
    return this;
  }

  private List<String> columns(String what, String... columns) {
    if (columns.length == 0) {
      throw new IllegalArgumentException(what + " needs at least one column");
    }
    return Stream.of(columns)
        .map(column -> RecordFit.column(rowType, Objects.requireNonNull(column, "a column")))
        .toList();
  }

  /**
   * The channel.
   *
   * @throws IllegalArgumentException if the name is not one that a channel can have, or the mode
   *     has no such option, or there is an order key and no order
   * @throws IllegalStateException if nothing says when the trigger fires
   */
  public TriggerChannel<T> build() {
    if (events.isEmpty()) {
      throw new IllegalStateException(
          "the channel on table " + table + " has no event: call afterInsert() before build()");
    }
    var channel = Channel.of(name == null ? defaultName() : name, rowType, mode, options);
    if (mode == Mode.BROADCAST && !keys.isEmpty()) {
      throw new IllegalArgumentException(
          "a BROADCAST stores nothing, so it has no delivery key or order key: take another mode, or leave them out");
    }
    if (!keys.order().isEmpty() && options.order() == KeyOrder.NONE) {
      throw new IllegalArgumentException(
          "the channel on table "
              + table
              + " has an order key but keeps no order: give options(…withOrder(…)), or leave the key out");
    }
    var capture = new Capture(channel.name(), mode, table, events, rowType, keys);
    return new TriggerChannel<>(capture, channel);
  }

  private String defaultName() {
    var schema = table.schema();
    return (schema == null ? "" : schema + ".") + table.table() + "_inserted";
  }
}
