package org.pgonce.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Notification;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.internal.handle.HandlerTx;

/**
 * A {@link Tx} for unit tests of a handler: it records what is published and stores nothing.
 *
 * <pre>{@code
 * var tx = new RecordingTx();
 * greet.handle(RecordingTx.notification(SIGNED_UP, new SignedUp(42)), tx);
 * assertThat(tx.published(GREETED)).containsExactly(new Greeted(42));
 * }</pre>
 *
 * <p>SQL runs on a connection of the DataSource that was given, in a transaction that {@link
 * #close} rolls back. The connection is not guarded, as a listener's is. For one thread.
 */
public final class RecordingTx implements Tx, AutoCloseable {

  private final @Nullable DataSource dataSource;
  private final List<Entry<?>> published = new ArrayList<>();
  private final List<Runnable> afterCommit = new ArrayList<>();
  private final List<Consumer<Outcome>> afterCompletion = new ArrayList<>();
  private @Nullable Connection connection;

  /** Without a database: {@link #connection} and all SQL are errors. */
  public RecordingTx() {
    this.dataSource = null;
  }

  /** With this database, opened when it is first used. */
  public RecordingTx(DataSource dataSource) {
    this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
  }

  /**
   * A first attempt, to be given to a handler: id 1, delivery key {@code <channel>:test:1}, stored
   * at the epoch, without context, of depth 0.
   */
  public static <T> Notification<T> notification(Channel<T> channel, T payload) {
    var name = channel.name();
    var subscription = channel.options().names().iterator().next();
    return new Notification<>(
        name, subscription, 1, name + ":test:1", 1, Instant.EPOCH, Map.of(), 0, payload);
  }

  /** What was published, with its options. */
  public record Entry<P>(Channel<P> channel, P payload, PublishOptions options) {}

  /** All that was published, in its order, without what had a delivery key that was there. */
  public List<Entry<?>> published() {
    return List.copyOf(published);
  }

  /** The payloads that were published to one channel, in their order. */
  public <P> List<P> published(Channel<P> channel) {
    return published.stream()
        .filter(entry -> entry.channel().name().equals(channel.name()))
        .map(entry -> channel.payloadType().cast(entry.payload()))
        .toList();
  }

  @Override
  public <P> long publish(Channel<P> channel, P payload) {
    return publish(channel, payload, PublishOptions.DEFAULT).id();
  }

  /** Ids count from 1. */
  @Override
  public <P> Published publish(Channel<P> channel, P payload, PublishOptions options) {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(payload, "payload");
    Objects.requireNonNull(options, "options");
    for (var i = 0; options.deliveryKey() != null && i < published.size(); i++) {
      var before = published.get(i);
      if (before.channel().name().equals(channel.name())
          && options.deliveryKey().equals(before.options().deliveryKey())) {
        return new Published(i + 1L, false);
      }
    }
    published.add(new Entry<>(channel, payload, options));
    return new Published(published.size(), true);
  }

  /**
   * @throws SQLException if this has no database
   */
  @Override
  public Connection connection() throws SQLException {
    if (dataSource == null) {
      throw new SQLException(
          "this RecordingTx has no database: make it with a DataSource, new RecordingTx(dataSource), or test the handler with PgOnceTester.drain");
    }
    if (connection == null) {
      connection = dataSource.getConnection();
      connection.setAutoCommit(false);
    }
    return connection;
  }

  @Override
  public int update(String sql, @Nullable Object... parameters) throws SQLException {
    return sql().update(sql, parameters);
  }

  @Override
  public <R extends @Nullable Object> List<R> query(
      String sql, RowMapper<R> mapper, @Nullable Object... parameters) throws SQLException {
    return sql().query(sql, mapper, parameters);
  }

  private Tx sql() {
    return new HandlerTx(this::connection, Publisher.standard());
  }

  @Override
  public void afterCommit(Runnable action) {
    afterCommit.add(Objects.requireNonNull(action, "action"));
  }

  @Override
  public void afterCompletion(Consumer<Outcome> action) {
    afterCompletion.add(Objects.requireNonNull(action, "action"));
  }

  /** Runs what the handler has registered for this outcome, in its order. Commits nothing. */
  public void complete(Outcome outcome) {
    Objects.requireNonNull(outcome, "outcome");
    if (outcome == Outcome.COMMITTED) {
      afterCommit.forEach(Runnable::run);
    }
    afterCompletion.forEach(action -> action.accept(outcome));
  }

  /** Rolls back what was done on the connection, if it was used, and gives it back. */
  @Override
  public void close() throws SQLException {
    var opened = connection;
    connection = null;
    if (opened != null) {
      try (opened) {
        opened.rollback();
        opened.setAutoCommit(true);
      }
    }
  }
}
