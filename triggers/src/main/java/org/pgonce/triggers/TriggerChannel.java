package org.pgonce.triggers;

import java.util.List;
import java.util.Objects;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.fit.RowType;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Content;
import org.pgonce.triggers.internal.install.ChannelMigration;
import org.pgonce.triggers.internal.install.TriggerFeed;

/**
 * A channel that is fed by a table: each row that is inserted, updated or deleted, as the channel
 * says, becomes one notification, stored in the writer's own transaction by a trigger. Whoever
 * writes to the table needs no right on pgonce and no knowledge of it.
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
 * @param <T> the row, a record whose components are columns, in snake_case; or a {@link RowChange}
 *     of it; or what an expression makes of it
 */
public final class TriggerChannel<T> implements Channel<T> {

  private final Capture capture;
  private final Channel<T> channel;
  private final PayloadForm<T> payload;
  private final TriggerFeed feed;

  TriggerChannel(Capture capture, Channel<T> channel, PayloadForm<T> payload) {
    this.capture = capture;
    this.channel = channel;
    this.payload = payload;
    this.feed = new TriggerFeed(capture);
  }

  /**
   * Begins a channel whose payload is a row: the new one, or the old one where it was deleted.
   *
   * @param table as SQL writes it: {@code author}, {@code app.author}, {@code app."Odd.Name"};
   *     without a schema it is looked for on the search path of the connection that installs or
   *     checks
   * @param rowType what a row is decoded to
   * @throws IllegalArgumentException if the name is none, or the type cannot hold a row
   */
  public static <T> TriggerChannelBuilder<T> on(String table, Class<T> rowType) {
    return on(TableName.parse(Objects.requireNonNull(table, "table")), rowType);
  }

  /** As {@link #on(String, Class)}, with the name as PostgreSQL stores it. */
  public static <T> TriggerChannelBuilder<T> on(TableName table, Class<T> rowType) {
    return new TriggerChannelBuilder<>(
        table,
        new PayloadForm.Plain<>(RowType.requireRow(Objects.requireNonNull(rowType, "rowType"))),
        rowType,
        Content.ROW);
  }

  /**
   * Begins a channel whose payload is what happened, with the row before and after it.
   *
   * @param table as for {@link #on(String, Class)}
   * @param rowType what a row is decoded to
   * @throws IllegalArgumentException if the name is none, or the type cannot hold a row
   */
  public static <R> TriggerChannelBuilder<RowChange<R>> changesOf(String table, Class<R> rowType) {
    return changesOf(TableName.parse(Objects.requireNonNull(table, "table")), rowType);
  }

  /** As {@link #changesOf(String, Class)}, with the name as PostgreSQL stores it. */
  public static <R> TriggerChannelBuilder<RowChange<R>> changesOf(
      TableName table, Class<R> rowType) {
    return new TriggerChannelBuilder<>(
        table,
        new PayloadForm.Change<>(RowType.requireRow(Objects.requireNonNull(rowType, "rowType"))),
        rowType,
        Content.ROW.withKind(Content.Kind.CHANGE));
  }

  /**
   * Begins a channel whose payload an expression makes of the rows {@code old} and {@code new}: for
   * example {@code json_build_object('id', new.id, 'total', new.net + new.tax)}. See {@link
   * TriggerChannelBuilder} for what such SQL may do.
   *
   * @param table as for {@link #on(String, Class)}
   * @param type what the payload codec decodes the value to, which is stored as JSON
   * @param expression one value, of any type that {@code to_json} takes
   * @throws IllegalArgumentException if the name is none, or the expression cannot be one
   */
  public static <T> TriggerChannelBuilder<T> computed(
      String table, Class<T> type, String expression) {
    return computed(TableName.parse(Objects.requireNonNull(table, "table")), type, expression);
  }

  /** As {@link #computed(String, Class, String)}, with the name as PostgreSQL stores it. */
  public static <T> TriggerChannelBuilder<T> computed(
      TableName table, Class<T> type, String expression) {
    return new TriggerChannelBuilder<>(
        table,
        new PayloadForm.Plain<>(Objects.requireNonNull(type, "type")),
        null,
        Content.ROW.computed(SqlText.requireExpression("payload", expression)));
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
  public T decode(PayloadCodec codec, String json) throws UnreadablePayloadException {
    return payload.decode(codec, json);
  }

  @Override
  public void requireDecodable(PayloadCodec codec) {
    codec.requireDecodable(payload.reads());
  }

  @Override
  public String encode(PayloadCodec codec, T value) {
    return payload.encode(codec, value);
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
   * The channel as SQL, for a reviewer, and for psql on a database that has the schema; {@link
   * Migration} has it for Flyway and Liquibase, and the way back that loses nothing. It takes the
   * table for an ordinary one: for a partitioned one, give the channel {@link
   * TriggerChannelBuilder#form form(TriggerForm.ROW)}. It follows the files of {@code sql/}; {@link
   * org.pgonce.PgOnce#migration} prints both. Who runs it must be a member of {@code
   * pgonce_installer} and may create triggers on the table.
   *
   * @throws org.pgonce.PgOnceException if the function depends on the columns of the table: {@link
   *     Triggers#migration} prints it
   */
  public String print() {
    return ChannelSql.installWithFeeds(List.of(this));
  }

  /** The way back, with the loss of all that waits in the channel. */
  public String printDrop() {
    return ChannelMigration.dropWithLoss(this);
  }

  /** For example {@code channel author_inserted (trigger after insert on author)}. */
  @Override
  public String toString() {
    return "channel " + name() + " (" + capture.description() + ")";
  }
}
