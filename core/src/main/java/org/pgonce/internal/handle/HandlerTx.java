package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.FailureTrace;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.SqlCall;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.PublishStatements;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The handler's view of a transaction that someone else begins and ends. */
public final class HandlerTx implements Tx {

  private static final Logger LOG = LoggerFactory.getLogger(HandlerTx.class);

  private final SqlCall<Connection> connections;
  private final Publisher publisher;
  // What runs behind the transaction, in its order: the first afterCommits are for its commit.
  private List<Consumer<Outcome>> callbacks = List.of();
  private int afterCommits;
  // Null once the handler has ended.
  private @Nullable Thread handler = Thread.currentThread();

  /** Of a handler that runs on this thread. Each use asks for the connection. */
  public HandlerTx(SqlCall<Connection> connections, Publisher publisher) {
    this.connections = connections;
    this.publisher = publisher;
  }

  @Override
  public Connection connection() throws SQLException {
    return connections.call();
  }

  @Override
  public int update(String sql, @Nullable Object... parameters) throws SQLException {
    try (var statement = Statements.prepare(connection(), sql, parameters)) {
      return statement.executeUpdate();
    }
  }

  @Override
  public <R extends @Nullable Object> List<R> query(
      String sql, RowMapper<R> mapper, @Nullable Object... parameters) throws SQLException {
    return Statements.rows(connection(), sql, mapper, parameters);
  }

  @Override
  public <P> long publish(Channel<P> channel, P payload) throws SQLException {
    return publisher.publish(connection(), channel, payload);
  }

  @Override
  public <P> Published publish(Channel<P> channel, P payload, PublishOptions options)
      throws SQLException {
    return publisher.publish(connection(), channel, payload, options);
  }

  @Override
  public void afterCommit(Runnable action) {
    Objects.requireNonNull(action, "action");
    add(
        afterCommits,
        outcome -> {
          if (outcome == Outcome.COMMITTED) {
            action.run();
          }
        });
    afterCommits++;
  }

  @Override
  public void afterCompletion(Consumer<Outcome> action) {
    add(callbacks.size(), Objects.requireNonNull(action, "action"));
  }

  private void add(int at, Consumer<Outcome> callback) {
    if (handler != Thread.currentThread()) {
      throw new IllegalStateException(
          "afterCommit and afterCompletion are for the handler's thread, until the handler returns:"
              + " this is another thread, or the handler has ended");
    }
    if (callbacks.isEmpty()) {
      callbacks = new ArrayList<>();
    }
    var depth = PublishStatements.depth() - 1;
    callbacks.add(
        at, outcome -> PublishStatements.behindHandler(depth, () -> callback.accept(outcome)));
  }

  /** The handler has ended: nothing is registered from here on. */
  void end() {
    handler = null;
  }

  /** Whether something is to run behind the transaction. */
  public boolean hasCallbacks() {
    return !callbacks.isEmpty();
  }

  /** Runs what was registered, once. Never throws, and leaves no interrupt of it. */
  public void complete(Outcome outcome) {
    var registered = callbacks;
    callbacks = List.of();
    for (var callback : registered) {
      if (Threads.isClosed()) {
        Thread.currentThread().interrupt(); // each: the one before it may have taken the interrupt
      }
      try {
        callback.accept(outcome);
      } catch (Throwable thrown) {
        LOG.warn(
            "pgonce: what a handler registered by afterCommit or afterCompletion threw behind its transaction ({}), which stays so: {}",
            outcome,
            Failures.inWords(thrown),
            FailureTrace.of(thrown));
      } finally {
        Thread.interrupted();
      }
    }
  }
}
