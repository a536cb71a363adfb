package org.pgonce;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.store.PublishStatements;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes what a query finds, again and again: one notification per overdue to-do, per expired
 * trial. Each has a delivery key that is derived from its row, so runs may overlap and many
 * instances may sweep: what has been published is there already.
 *
 * <p>A key is unique while its notification waits, and as long after that as the channel remembers
 * keys ({@link ChannelOptions#keyMemory()}, 0 by default). So a row that was handled must not be
 * found any more from the commit of its handler on, or the channel must remember its key for longer
 * than the row is found.
 *
 * <p>A run that has stored something runs query and mapper again before it commits. It takes back
 * what is not found again, and does not count it: another sweep may have published the row, and a
 * handler handled it, between the query and the publishing. So the mapper must give a row the same
 * key each time. With a LIMIT the rows need an order that stays: what is within it at the first
 * look only comes with a later run. A query that itself changes or locks rows ({@code UPDATE …
 * RETURNING}, {@code FOR UPDATE}) is run once: what it finds is its own until the commit, if those
 * are the rows that say whether they were handled.
 *
 * <p>Safe for use by several threads. Made and begun by {@link PgOnce#sweep}.
 */
public final class Sweep<T> implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Sweep.class);
  private static final Duration CLOSING = Duration.ofSeconds(5);

  private final Transactions transactions;
  private final Publisher publisher;
  private final Channel<T> channel;
  private final String sql;
  private final Tx.RowMapper<Message<T>> mapper;
  private final CountDownLatch ended = new CountDownLatch(1);
  private @Nullable Thread thread;
  // Of the thread's run that is under way.
  private volatile @Nullable Connection connection;

  Sweep(
      Transactions transactions,
      Publisher publisher,
      Channel<T> channel,
      String sql,
      Tx.RowMapper<Message<T>> mapper) {
    this.transactions = transactions;
    this.publisher = publisher;
    this.channel = channel;
    this.sql = Objects.requireNonNull(sql, "sql");
    this.mapper = Objects.requireNonNull(mapper, "mapper");
    if (channel.mode() == Mode.BROADCAST) {
      throw new IllegalArgumentException(
          "channel %s is a BROADCAST, which keeps no keys: each run would publish all again"
              .formatted(channel.name()));
    }
  }

  /** The first run comes soon, but not at the same moment on each instance of a deployment. */
  void begin(Duration interval) {
    Bounds.require(
        "interval", interval, Duration.ofMillis(100), Duration.ofDays(365), "100 ms and 365 days");
    var whole = interval.toMillis();
    thread = new Thread(() -> runUntilEnded(whole), "pgonce-sweep-" + channel.name());
    thread.setDaemon(true);
    thread.start();
  }

  private void runUntilEnded(long intervalMs) {
    var random = ThreadLocalRandom.current();
    try {
      var wait = random.nextLong(intervalMs / 4 + 1);
      while (!ended.await(wait, TimeUnit.MILLISECONDS)) {
        runByItself();
        if (!isEnded()) {
          Thread.interrupted(); // what the mapper left
        }
        wait = random.nextLong(intervalMs * 3 / 4, intervalMs + 1);
      }
    } catch (InterruptedException e) {
      LOG.debug("pgonce: a sweep for channel {} was cut off", channel.name());
    }
  }

  private void runByItself() {
    try {
      var stored = transactions.runBounded(this::publishUnlessCutOff);
      LOG.debug("pgonce: a sweep published {} to channel {}", stored, channel.name());
    } catch (Throwable e) {
      // Whatever the mapper throws, Errors included, fails this run and not the next.
      LOG.warn(
          "pgonce: a sweep for channel {} failed, nothing of it is published; the next run comes after the interval, unless the sweep was closed: {}",
          channel.name(),
          Failures.inWords(e));
      LOG.debug("pgonce: the failed sweep in full", e);
    }
  }

  private long publishUnlessCutOff(Connection transaction) throws SQLException {
    connection = transaction;
    try {
      if (Thread.currentThread().isInterrupted()) {
        throw new SQLException("the sweep was closed before it had a connection", "57014");
      }
      return publish(transaction);
    } finally {
      connection = null;
    }
  }

  /**
   * Sweeps once more, at once and on this thread, in a transaction of its own.
   *
   * @return how many were published; those that had been before are not counted
   * @throws PgOnceException if the database refuses, or cannot be reached, or a message has no
   *     delivery key: nothing is published then
   */
  public long run() {
    try {
      return transactions.runBounded(this::publish);
    } catch (SQLException e) {
      throw new PgOnceException(
          "pgonce cannot sweep for channel " + channel.name() + ": " + Failures.withHint(e), e);
    }
  }

  private long publish(Connection transaction) throws SQLException {
    var found = find(transaction);
    var published =
        publisher.publishEach(transaction, channel, List.copyOf(found.values())).iterator();
    var stored = new LinkedHashSet<>(found.keySet());
    stored.removeIf(key -> !published.next().stored());
    return stored.isEmpty() ? 0 : stored.size() - takeBackWhatIsGone(transaction, stored);
  }

  /** The messages by their keys. */
  private Map<String, Message<T>> find(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(sql);
        var row = statement.executeQuery()) {
      var found = new LinkedHashMap<String, Message<T>>();
      while (row.next()) {
        var message = mapper.map(row);
        var key = message.options().deliveryKey();
        if (key == null) {
          throw new PgOnceException(
              "pgonce cannot sweep for channel "
                  + channel.name()
                  + ": a message has no delivery key, and would be published by each run; give it one, derived from its row");
        }
        found.putIfAbsent(key, message);
      }
      return found;
    }
  }

  /**
   * What was found may have been handled, and its key forgotten, before this transaction took the
   * key. Now that it has the keys nothing can come in between: a handler that took a row before has
   * committed that, and READ COMMITTED sees it.
   *
   * @return how many
   */
  private long takeBackWhatIsGone(Connection transaction, Set<String> stored) throws SQLException {
    var gone = new LinkedHashSet<>(stored);
    try (var statement = transaction.createStatement()) {
      statement.execute("SAVEPOINT pgonce_look");
      // A query that changes its rows would not find them again; this transaction has changed or
      // locked them, so nobody else has handled them.
      statement.execute("SET TRANSACTION READ ONLY");
      try {
        gone.removeAll(find(transaction).keySet());
      } catch (SQLException e) {
        if (!PoolSettings.READ_ONLY_TRANSACTION.equals(e.getSQLState())) {
          throw e;
        }
        gone.clear();
      }
      statement.execute("ROLLBACK TO SAVEPOINT pgonce_look");
    }
    return gone.isEmpty() ? 0 : PublishStatements.takeBack(transaction, channel, gone);
  }

  /** No run begins from now on. Returns at once. */
  void end() {
    ended.countDown();
  }

  boolean isEnded() {
    return ended.getCount() == 0;
  }

  /**
   * Ends it: no run begins from now on, and one that is under way by itself is waited for, for 5 s
   * at most; then its connection is closed, which undoes it. May be called again, and by the
   * mapper, which is not waited for.
   */
  @Override
  public void close() {
    try {
      endWithin(CLOSING);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The same with another bound; 0 or less for none. */
  void endWithin(Duration left) throws InterruptedException {
    end();
    var running = thread;
    if (running == null || running == Thread.currentThread()) {
      return;
    }
    try {
      TimeUnit.NANOSECONDS.timedJoin(running, TimeUnit.NANOSECONDS.convert(left));
    } finally {
      if (running.isAlive()) {
        cutOff(running);
      }
    }
  }

  /** An interrupt alone would not end a wait for the server's answer. */
  private void cutOff(Thread running) {
    running.interrupt();
    var used = connection;
    if (used != null) {
      LostConnection.abandon(used);
    }
  }
}
