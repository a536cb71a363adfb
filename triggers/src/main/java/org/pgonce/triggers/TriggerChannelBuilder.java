package org.pgonce.triggers;

import java.util.EnumSet;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Event;

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
   * The channel.
   *
   * @throws IllegalArgumentException if the name is not one that a channel can have, or the mode
   *     has no such option
   * @throws IllegalStateException if nothing says when the trigger fires
   */
  public TriggerChannel<T> build() {
    if (events.isEmpty()) {
      throw new IllegalStateException(
          "the channel on table " + table + " has no event: call afterInsert() before build()");
    }
    var channel = Channel.of(name == null ? defaultName() : name, rowType, mode, options);
    var capture = new Capture(channel.name(), mode, table, events, rowType);
    return new TriggerChannel<>(capture, channel);
  }

  private String defaultName() {
    var schema = table.schema();
    return (schema == null ? "" : schema + ".") + table.table() + "_inserted";
  }
}
