package org.pgonce.triggers;

import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.internal.store.Migration;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.fit.RowType;
import org.pgonce.triggers.internal.install.TriggerFeed;

/**
 * A channel that is fed by a table: each inserted row becomes one notification, stored in the
 * writer's own transaction by a trigger. Whoever writes to the table needs no right on pgonce and
 * no knowledge of it.
 *
 * <pre>{@code
 * record Author(long id, String name) {}
 *
 * static final TriggerChannel<Author> AUTHOR_ADDED =
 *     TriggerChannel.on("author", Author.class).afterInsert().build();
 * }</pre>
 *
 * <p>{@link org.pgonce.PgOnce#install} creates the trigger, {@link org.pgonce.PgOnce#start} checks
 * that it is there and that record and table still fit. Immutable and safe for use by several
 * threads.
 *
 * @param <T> the new row: a record whose components are columns, in snake_case
 */
public final class TriggerChannel<T> implements Channel<T> {

  private final Capture capture;
  private final Channel<T> channel;
  private final TriggerFeed feed;

  TriggerChannel(Capture capture, Channel<T> channel) {
    this.capture = capture;
    this.channel = channel;
    this.feed = new TriggerFeed(capture);
  }

  /**
   * Begins a channel that is fed by a table.
   *
   * @param table as SQL writes it: {@code author}, {@code app.author}, {@code app."Odd.Name"};
   *     without a schema it is looked for on the search path of the connection that installs or
   *     checks
   * @param rowType what a row is decoded to
   * @throws IllegalArgumentException if the name is none, or the type cannot hold a row
   */
  public static <T> TriggerChannelBuilder<T> on(String table, Class<T> rowType) {
    return on(TableName.parse(table), rowType);
  }

  /** As {@link #on(String, Class)}, with the name as PostgreSQL stores it. */
  public static <T> TriggerChannelBuilder<T> on(TableName table, Class<T> rowType) {
    return new TriggerChannelBuilder<>(table, RowType.requireRow(rowType));
  }

  @Override
  public String name() {
    return capture.channel();
  }

  @Override
  public Mode mode() {
    return capture.mode();
  }

  @Override
  public Class<T> payloadType() {
    return channel.payloadType();
  }

  @Override
  public ChannelOptions options() {
    return channel.options();
  }

  @Override
  public ChannelFeed feed() {
    return feed;
  }

  /** The watched table, as it was defined. */
  public TableName table() {
    return capture.table();
  }

  /**
   * The channel as a migration: SQL for a reviewer, and to paste into psql, Flyway or Liquibase
   * (there with splitStatements:false), on a database that has the schema. It follows the files of
   * {@code sql/}; {@link org.pgonce.PgOnce#migration} prints both. Who runs it must be a member of
   * {@code pgonce_owner} and may create triggers on the table.
   */
  public String print() {
    return Migration.of(this);
  }

  /** The way back, with the loss of all that waits in the channel. */
  public String printDrop() {
    return feed.downMigration() + Migration.dropOf(this);
  }

  /** For example {@code channel author_inserted (trigger after insert on author)}. */
  @Override
  public String toString() {
    return "channel " + name() + " (" + feed.description() + ")";
  }
}
