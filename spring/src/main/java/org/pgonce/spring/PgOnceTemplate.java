package org.pgonce.spring;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.spring.internal.pool.Pools;
import org.pgonce.spring.internal.transaction.TransactionEnd;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.support.SQLExceptionTranslator;
import org.springframework.jdbc.support.SQLStateSQLExceptionTranslator;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Publishes in Spring's transaction: what is published exists if and only if that transaction
 * commits. In a listener that is the notification's own.
 *
 * <p>Every method does what that of {@link Publisher} does, throws an {@link
 * IllegalTransactionStateException} outside of a transaction on pgonce's data source, or behind its
 * commit, before any SQL runs, and a {@link org.springframework.dao.DataAccessException} in place
 * of an {@link SQLException}. Without the starters, which hear of each commit, {@code afterCommit}
 * itself counts as within the transaction. Safe for use by several threads.
 *
 * <p>The starters' bean opens a span {@code send <channel>} around each publish, whose trace goes
 * along to the handler, where pgonce-micrometer is on the class path and a bean observes ({@code
 * ObservationRegistry}).
 */
public final class PgOnceTemplate {

  private static final String READ_ONLY = "25006";

  private static final SQLExceptionTranslator TRANSLATOR = new SQLStateSQLExceptionTranslator();

  private final DataSource dataSource;
  private final Publisher publisher;

  /**
   * One beside the starters', which is made the same way.
   *
   * @param dataSource that of the transactions, or what is put around the same pool
   * @param publisher {@link org.pgonce.PgOnce#publisher()}; for spans, an {@code ObservedPublisher}
   *     of pgonce-micrometer over it
   */
  public PgOnceTemplate(DataSource dataSource, Publisher publisher) {
    this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
    this.publisher = Objects.requireNonNull(publisher, "publisher");
  }

  /** {@link Publisher#publish(Connection, Channel, Object)}. */
  public <T> long publish(Channel<T> channel, T payload) {
    return inTransaction(channel, connection -> publisher.publish(connection, channel, payload));
  }

  /** {@link Publisher#publish(Connection, Channel, Object, PublishOptions)}. */
  public <T> Published publish(Channel<T> channel, T payload, PublishOptions options) {
    return inTransaction(
        channel, connection -> publisher.publish(connection, channel, payload, options));
  }

  /** {@link Publisher#publishAll}. */
  public <T> List<Long> publishAll(Channel<T> channel, List<T> payloads) {
    return inTransaction(
        channel, connection -> publisher.publishAll(connection, channel, payloads));
  }

  /** {@link Publisher#publishEach}. */
  public <T> List<Published> publishEach(Channel<T> channel, List<Message<T>> messages) {
    return inTransaction(
        channel, connection -> publisher.publishEach(connection, channel, messages));
  }

  /**
   * Gives what this transaction's triggers store from now on the current trace: call it before the
   * table is written. One statement, within a span {@code send}; nothing at all where nothing
   * traces.
   */
  public void propagate() {
    inTransaction(
        "propagate",
        connection -> {
          publisher.propagate(connection);
          return true;
        });
  }

  private <R> R inTransaction(Channel<?> channel, Work<R> work) {
    return inTransaction("publish to channel " + channel.name(), work);
  }

  private <R> R inTransaction(String task, Work<R> work) {
    if (!TransactionSynchronizationManager.isActualTransactionActive()) {
      throw outside(task);
    }
    if (TransactionEnd.isBehind()) {
      throw behind(task);
    }
    var key = key();
    if (key == null) {
      throw outside(task);
    }
    var connection = DataSourceUtils.getConnection(key);
    try {
      // Without the starters that alone tells a connection that is not the transaction's.
      if (connection.getAutoCommit()) {
        throw outside(task);
      }
      return work.with(connection);
    } catch (SQLException e) {
      var failed = task + ": " + hint(e) + e.getMessage();
      var translated = TRANSLATOR.translate(failed, null, e);
      throw translated == null ? new UncategorizedSQLException(failed, null, e) : translated;
    } finally {
      DataSourceUtils.releaseConnection(connection, key);
    }
  }

  /** What the transaction's connection is looked up by: the pool, or what is put around it. */
  private @Nullable DataSource key() {
    for (var bound : TransactionSynchronizationManager.getResourceMap().entrySet()) {
      if (bound.getValue() instanceof ConnectionHolder holder
          && !holder.isVoid()
          && TransactionEnd.isOfTransaction(holder)
          && bound.getKey() instanceof DataSource key
          && Pools.same(key, dataSource)) {
        return key;
      }
    }
    return null;
  }

  private static IllegalTransactionStateException outside(String task) {
    return new IllegalTransactionStateException(
        "%s: called outside of a transaction on pgonce's data source, so nothing would tie the notification to what it is about. Call it from a @Transactional method, or from TransactionTemplate, of that data source's transaction manager; for a transaction of its own, use PgOnce.publisher() with a connection"
            .formatted(task));
  }

  private static IllegalTransactionStateException behind(String task) {
    return new IllegalTransactionStateException(
        "%s: called behind the transaction's commit or rollback (an AFTER_COMMIT listener, afterCommit, afterCompletion), so nothing would commit it. Publish in the transaction itself, in phase BEFORE_COMMIT for example, or in one of its own: @Transactional(propagation = REQUIRES_NEW)"
            .formatted(task));
  }

  private static String hint(SQLException e) {
    return READ_ONLY.equals(e.getSQLState())
        ? "the transaction is read-only, and publishing writes. Leave readOnly = true out where the transaction begins; a standby server is read-only too: "
        : "";
  }

  @FunctionalInterface
  private interface Work<R> {
    R with(Connection connection) throws SQLException;
  }
}
