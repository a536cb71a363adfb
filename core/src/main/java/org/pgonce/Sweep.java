package org.pgonce;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
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
 * trial. Each has a delivery key that is derived from its row, and so it is safe when runs overlap
 * and when many instances sweep: what has been published is there already.
 *
 * <p>A key is unique while its notification waits, and as long after that as the channel remembers
 * keys ({@link ChannelOptions#keyMemory()}, 0 by default): see to it that a row that was handled is
 * not found any more from the commit of its handler on, or that the channel remembers its key for
 * longer than it is found.
 *
 * <p>A run that has stored something looks once more before it commits: the query and the mapper
 * run again, and what is not found again is taken out of all subscriptions, and not counted. Else a
 * row that was found, and then handled by way of another sweep before this one came to publish it,
 * would be published twice. So the mapper must give a row the same key each time. With a LIMIT the
 * rows need an order that stays: what is within it at the first look only comes with a later run. A
 * query that itself changes or locks rows ({@code UPDATE … RETURNING}, {@code FOR UPDATE}) is run
 * once: what it finds is its own until the commit, if those are the rows that tell whether they
 * were handled.
 *
 * <p>Safe for use by several threads. Made and begun by {@link PgOnce#sweep}.
 */
public final class Sweep<T> implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Sweep.class);
  private static final Duration SHORTEST = Duration.ofMillis(100);
  private static final Duration LONGEST = Duration.ofDays(365);
  private static final Duration CLOSING = Duration.ofSeconds(5);

  private final Transactions transactions;
  private final Publisher publisher;
  private final Channel<T> channel;
  private final Duration interval;
  private final String sql;
  private final Tx.RowMapper<Message<T>> mapper;
  private final ScheduledThreadPoolExecutor timer;
  // The connection and the thread of the timer's run that is under way.
  private volatile @Nullable Connection connection;
  private volatile @Nullable Thread runner;
  private volatile boolean cutOff;

  Sweep(
      Transactions transactions,
      Publisher publisher,
      Channel<T> channel,
      Duration interval,
      Query<T> query) {
    this.transactions = transactions;
    this.publisher = publisher;
    this.channel = Objects.requireNonNull(channel, "channel");
    this.interval = Objects.requireNonNull(interval, "interval");
    this.sql = query.sql();
    this.mapper = query.mapper();
    if (channel.mode() == Mode.BROADCAST) {
      throw new IllegalArgumentException(
          "channel %s is a BROADCAST, which keeps no keys: each run would publish all again"
              .formatted(channel.name()));
    }
    if (interval.compareTo(SHORTEST) < 0 || interval.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "interval " + interval + " is not between 100 ms and 365 days");
    }
    this.timer =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              var thread = new Thread(work, "pgonce-sweep-" + channel.name());
              thread.setDaemon(true);
              return thread;
            },
            new ThreadPoolExecutor.DiscardPolicy());
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /**
   * What is looked for, and what is published of each row.
   *
   * @param sql all that it finds is read into memory: a LIMIT leaves the rest to the next run
   * @param mapper makes a message with a delivery key
   */
  record Query<T>(String sql, Tx.RowMapper<Message<T>> mapper) {
    Query {
      Objects.requireNonNull(sql, "sql");
      Objects.requireNonNull(mapper, "mapper");
    }
  }

  /** The first run comes soon, but not at the same moment on each instance of a deployment. */
  void begin() {
    runAfter(ThreadLocalRandom.current().nextLong(interval.toMillis() / 4 + 1));
  }

  private void runAfter(long delayMs) {
    // Discarded once it is closed.
    var unused = timer.schedule(this::runAndGoOn, delayMs, TimeUnit.MILLISECONDS);
  }

  private void runAndGoOn() {
    runner = Thread.currentThread();
    try {
      var stored = transactions.runBounded(this::publishAsTimed);
      LOG.debug("pgonce: a sweep published {} to channel {}", stored, channel.name());
    } catch (Throwable e) {
      // Whatever the mapper throws, Errors included, fails this run and not the next.
      if (cutOff) {
        LOG.info(
            "pgonce: a sweep for channel {} was cut off at its end: it is undone", channel.name());
      } else {
        LOG.warn(
            "pgonce: a sweep for channel {} failed and is tried again at the next interval: {}",
            channel.name(),
            Failures.inWords(e));
      }
      LOG.debug("pgonce: the failed sweep in full", e);
    } finally {
      runner = null;
      var longest = interval.toMillis();
      runAfter(ThreadLocalRandom.current().nextLong(longest * 3 / 4, longest + 1));
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

  private long publishAsTimed(Connection transaction) throws SQLException {
    connection = transaction;
    try {
      if (cutOff) {
        throw new SQLException("the sweep was closed before it had a connection", "57014");
      }
      return publish(transaction);
    } finally {
      connection = null;
    }
  }

  private long publish(Connection transaction) throws SQLException {
    var found = new ArrayList<Message<T>>();
    var keys = new ArrayList<String>();
    look(
        transaction,
        (message, key) -> {
          found.add(message);
          keys.add(key);
        });
    var published = publisher.publishEach(transaction, channel, found);
    var stored = new LinkedHashSet<String>();
    for (var i = 0; i < keys.size(); i++) {
      if (published.get(i).stored()) {
        stored.add(keys.get(i));
      }
    }
    return stored.isEmpty() ? 0 : stored.size() - takeBackWhatIsGone(transaction, stored);
  }

  private void look(Connection transaction, BiConsumer<Message<T>, String> finder)
      throws SQLException {
    try (var statement = transaction.prepareStatement(sql);
        var row = statement.executeQuery()) {
      while (row.next()) {
        var message = mapper.map(row);
        finder.accept(message, requireKey(message));
      }
    }
  }

  private String requireKey(Message<T> message) {
    var key = message.options().deliveryKey();
    if (key == null) {
      throw new PgOnceException(
          "pgonce cannot sweep for channel "
              + channel.name()
              + ": a message has no delivery key, and would be published by each run; give it one, derived from its row");
    }
    return key;
  }

  /**
   * What was found may have been handled, and its key forgotten, before this transaction took the
   * key. Now that it has the keys nothing can come in between: who handled a row before has
   * committed that, and READ COMMITTED sees it.
   *
   * @return how many
   */
  private long takeBackWhatIsGone(Connection transaction, Set<String> stored) throws SQLException {
    var gone = new LinkedHashSet<>(stored);
    try (var statement = transaction.createStatement()) {
      statement.execute("SAVEPOINT pgonce_look");
      // One that changes what it finds would not find it again; whoever changed or locked it is
      // this transaction, so nobody else has handled it.
      statement.execute("SET TRANSACTION READ ONLY");
      try {
        look(transaction, (message, key) -> gone.remove(key));
      } catch (SQLException e) {
        if (!PoolSettings.READ_ONLY_TRANSACTION.equals(e.getSQLState())) {
          throw e;
        }
        gone.clear();
      }
      statement.execute("ROLLBACK TO SAVEPOINT pgonce_look");
    }
    if (gone.isEmpty()) {
      return 0;
    }
    LOG.info(
        "pgonce: of {} rows that a sweep was to publish to channel {}, {} were not found again, and are not published",
        stored.size(),
        channel.name(),
        gone.size());
    return PublishStatements.takeBack(transaction, channel, gone);
  }

  /** No run begins from now on. Returns at once. */
  void end() {
    timer.shutdown();
  }

  boolean isEnded() {
    return timer.isShutdown();
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
    if (Thread.currentThread() == runner) {
      return;
    }
    var ended = false;
    try {
      ended = timer.awaitTermination(TimeUnit.NANOSECONDS.convert(left), TimeUnit.NANOSECONDS);
    } finally {
      if (!ended) {
        cutOff();
      }
    }
  }

  /** An interrupt alone would not end a wait for the server's answer. */
  private void cutOff() {
    cutOff = true;
    timer.shutdownNow();
    var used = connection;
    if (used != null) {
      LostConnection.abandon(used);
    }
  }
}
