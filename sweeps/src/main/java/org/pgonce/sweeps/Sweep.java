package org.pgonce.sweeps;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes what a query finds, again and again: one notification per overdue to-do, per expired
 * trial. Each has a delivery key that is derived from its row, so runs may overlap and many
 * instances may sweep: what has been published is there already.
 *
 * <pre>{@code
 * var sweep = Sweep.of(dataSource, Publisher.standard(), OVERDUE,
 *     "select id from todo where due_at < now()",
 *     row -> new Message<>(
 *         new Overdue(row.getLong("id")),
 *         PublishOptions.DEFAULT.withDeliveryKey(DeliveryKey.of("todo", row.getString("id")))));
 * sweep.every(Duration.ofMinutes(1));
 * }</pre>
 *
 * <p>A key is unique while its notification waits, and as long after that as the channel remembers
 * keys ({@link ChannelOptions#keyMemory()}, 0 by default). So a row that was handled must not be
 * found any more from the commit of its handler on, or the channel must remember its key for longer
 * than the row is found.
 *
 * <p>A run is one transaction at READ COMMITTED, with a synchronous commit. If it has stored
 * something, it runs query and mapper again before it commits. It takes back what is not found
 * again, and does not count it: another sweep may have published the row, and a handler handled it,
 * between the query and the publishing. So the mapper must give a row the same key each time. With
 * a LIMIT the rows need a stable order; a row that comes within the limit only at the second query
 * is left to a later run. A query that itself changes or locks rows ({@code UPDATE … RETURNING},
 * {@code FOR UPDATE}) is run once: its rows belong to the run until the commit, provided that these
 * are the rows that say whether they were handled.
 *
 * <p>Safe for use by several threads. Needs no listener; opens nothing before its first run.
 */
public final class Sweep<T> implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Sweep.class);

  private static final Duration SHORTEST = Duration.ofMillis(100);
  private static final Duration LONGEST = Duration.ofDays(365);
  private static final Duration LONGEST_CALL = Duration.ofHours(1);
  private static final int CLOSING_SECONDS = 5;

  // The server has ended a session that idled in its transaction.
  private static final String IDLE = "25P03";
  private static final String TAKE_BACK =
      "SELECT pgonce.take_back(?, pg_catalog.to_json(?::pg_catalog.text::pg_catalog.text[]))";

  private final Transactions transactions;
  private final Publisher publisher;
  private final Channel<T> channel;
  private final String sql;
  private final Tx.RowMapper<Message<T>> mapper;
  private final ScheduledThreadPoolExecutor timer;
  private final AtomicBoolean isScheduled = new AtomicBoolean();

  // Of the timer's run that is under way.
  private volatile @Nullable Thread thread;
  private volatile @Nullable Connection connection;

  private Sweep(
      DataSource dataSource,
      Publisher publisher,
      Channel<T> channel,
      String sql,
      Tx.RowMapper<Message<T>> mapper) {
    this.transactions = new Transactions(dataSource, LONGEST_CALL);
    this.publisher = publisher;
    this.channel = channel;
    this.sql = sql;
    this.mapper = mapper;
    this.timer =
        new ScheduledThreadPoolExecutor(
            1,
            runs -> {
              var thread = new Thread(runs, "pgonce-sweep-" + channel.name());
              thread.setDaemon(true);
              return thread;
            });
  }

  /**
   * A sweep that does not run yet, see {@link #every} and {@link #run}.
   *
   * @param publisher {@link Publisher#standard}, or one with the codec that the listeners use
   * @param sql one query without parameters. All its rows are read into memory: a LIMIT leaves the
   *     rest to the next run
   * @param mapper makes a message with a delivery key of each row. The transaction waits for it
   *     without SQL, and the server ends a session that does so for 30 s, or for a shorter {@code
   *     idle_in_transaction_session_timeout}. So all rows of a run are to be mapped and encoded
   *     within that time, else nothing is published: give the query a LIMIT, or have it look up
   *     what the mapper would
   * @throws IllegalArgumentException if the channel is a {@link Mode#BROADCAST}, which keeps no
   *     keys
   */
  public static <T> Sweep<T> of(
      DataSource dataSource,
      Publisher publisher,
      Channel<T> channel,
      String sql,
      Tx.RowMapper<Message<T>> mapper) {
    Objects.requireNonNull(dataSource, "dataSource");
    Objects.requireNonNull(publisher, "publisher");
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(sql, "sql");
    Objects.requireNonNull(mapper, "mapper");
    if (channel.mode() == Mode.BROADCAST) {
      throw new IllegalArgumentException(
          "channel %s is a BROADCAST, which keeps no keys: each run would publish all again"
              .formatted(channel.name()));
    }
    return new Sweep<>(dataSource, publisher, channel, sql, mapper);
  }

  /**
   * Runs on a thread of its own until {@link #close}: at a random time within the first quarter of
   * the interval, so that the instances of a deployment do not run together, and then each
   * interval. A run that fails is logged and publishes nothing.
   *
   * @param interval from the end of a run to the beginning of the next, 100 ms to 365 days
   * @return this sweep
   * @throws IllegalArgumentException if the interval is outside its bounds
   * @throws IllegalStateException if this was called before, or the sweep is closed
   */
  public Sweep<T> every(Duration interval) {
    Objects.requireNonNull(interval, "interval");
    if (interval.compareTo(SHORTEST) < 0 || interval.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "interval " + interval + " is not between 100 ms and 365 days");
    }
    if (!isScheduled.compareAndSet(false, true)) {
      throw new IllegalStateException(
          "the sweep for channel " + channel.name() + " has an interval already");
    }
    var millis = interval.toMillis();
    var first = ThreadLocalRandom.current().nextLong(millis / 4 + 1);
    try {
      var unused =
          timer.scheduleWithFixedDelay(this::runByTimer, first, millis, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      throw new IllegalStateException(
          "the sweep for channel " + channel.name() + " is closed", closed);
    }
    return this;
  }

  private void runByTimer() {
    thread = Thread.currentThread();
    try {
      var stored = transactions.runBounded(this::publishUnlessCutOff);
      LOG.debug("pgonce: a sweep published {} to channel {}", stored, channel.name());
    } catch (Throwable e) {
      // Whatever the mapper throws, Errors included: the timer would end with it.
      LOG.warn(
          "pgonce: a sweep for channel {} failed, nothing of it is published; the next run comes after the interval, unless the sweep was closed: {}",
          channel.name(),
          Failures.inWords(e) + advice(e));
      LOG.debug("pgonce: the failed sweep in full", e);
    } finally {
      thread = null;
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
   * Runs once, at once and on this thread, whether or not it has an interval or is closed.
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
          "pgonce cannot sweep for channel %s: %s"
              .formatted(channel.name(), Failures.withHint(e) + advice(e)),
          e);
    }
  }

  /** The server's words name the session, and not what it waited for. */
  private static String advice(Throwable failure) {
    return Failures.causes(failure)
            .anyMatch(cause -> cause instanceof SQLException sql && IDLE.equals(sql.getSQLState()))
        ? ". Mapping and encoding the rows took longer than a session may idle in its transaction: give the query a LIMIT, or have it look up what the mapper does"
        : "";
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
   * A row may have been handled, and its key forgotten, between the query and the publishing. Now
   * that this transaction has the keys, the second query is decisive: a handler that took a row
   * before has committed, and READ COMMITTED sees that.
   *
   * @return how many were taken back
   */
  private long takeBackWhatIsGone(Connection transaction, Set<String> stored) throws SQLException {
    var gone = new ArrayList<>(stored);
    try (var statement = transaction.createStatement()) {
      statement.execute("SAVEPOINT pgonce_look");
      // A query that changes or locks its rows fails here: nobody else can have handled them.
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
    return gone.isEmpty() ? 0 : takeBack(transaction, gone);
  }

  private long takeBack(Connection transaction, List<String> keys) throws SQLException {
    try (var statement = transaction.prepareStatement(TAKE_BACK)) {
      statement.setString(1, channel.name());
      statement.setString(2, Statements.array(keys));
      try (var row = statement.executeQuery()) {
        row.next();
        return row.getLong(1);
      }
    }
  }

  /**
   * Ends it: no further run begins by itself. One that is under way by itself is waited for, for 5
   * s at most, and not at all if this thread is interrupted; then its connection is closed, which
   * undoes it. May be called again, and by the mapper, which is not waited for.
   */
  @Override
  public void close() {
    timer.shutdown();
    if (thread == Thread.currentThread()) {
      return;
    }
    try {
      if (timer.awaitTermination(CLOSING_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    timer.shutdownNow();
    // The interrupt does not end a wait for the server's answer.
    var used = connection;
    if (used != null) {
      LostConnection.abandon(used);
    }
  }
}
