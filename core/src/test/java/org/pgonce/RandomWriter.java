package org.pgonce;

import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.pgonce.Stage.Order;

/**
 * Publishes in transactions of all kinds: of each isolation level, short ones and such as stay open
 * for a while, prepared ones, rolled back in whole or in part. What is committed says so in table
 * {@code written}, in the same transaction: whether it is, only the database knows where the server
 * crashes.
 */
final class RandomWriter implements Runnable {

  private static final int[] LEVELS = {
    Connection.TRANSACTION_READ_COMMITTED,
    Connection.TRANSACTION_REPEATABLE_READ,
    Connection.TRANSACTION_SERIALIZABLE
  };

  // A rest ends with one of the next faults: each may take a new process, or the server's recovery.
  private static final Duration LONGEST_REST = Duration.ofSeconds(90);

  private static final int MANY = 100;

  private final DataSource dataSource;
  private final Random random;
  private final String name;
  private final AtomicLong ids;
  private final AtomicBoolean resting;
  private final AtomicBoolean stopped;
  private long transactions;
  private long quiet;

  /**
   * @param name of its prepared transactions
   * @param resting whether it writes nothing for now
   */
  RandomWriter(
      DataSource dataSource,
      long seed,
      String name,
      AtomicLong ids,
      AtomicBoolean resting,
      AtomicBoolean stopped) {
    this.dataSource = dataSource;
    this.random = new Random(seed);
    this.name = name;
    this.ids = ids;
    this.resting = resting;
    this.stopped = stopped;
  }

  long transactions() {
    return transactions;
  }

  /** How many of its transactions relied on it that somebody is awake. */
  long quiet() {
    return quiet;
  }

  @Override
  public void run() {
    while (!stopped.get()) {
      try (var connection = dataSource.getConnection()) {
        while (goesOn()) {
          transaction(connection);
        }
      } catch (SQLException e) {
        pause(20); // the server is down, or comes up
      }
    }
  }

  /** Waits while it rests; false once it is stopped. */
  private boolean goesOn() {
    await()
        .atMost(LONGEST_REST)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(1))
        .pollInSameThread()
        .until(() -> !resting.get() || stopped.get());
    return !stopped.get();
  }

  private void transaction(Connection connection) throws SQLException {
    connection.setTransactionIsolation(LEVELS[random.nextInt(LEVELS.length)]);
    connection.setAutoCommit(false);
    var name = this.name + "_" + ids.incrementAndGet();
    try (var statement = connection.createStatement()) {
      store(connection);
      if (random.nextInt(10) == 0) {
        var before = connection.setSavepoint();
        store(connection);
        connection.rollback(before);
      }
      var isQuiet = isQuiet(connection);
      transactions++;
      quiet += isQuiet ? 1 : 0;
      if (random.nextInt(20) == 0) {
        pause(random.nextInt(600));
      }
      if (random.nextInt(10) == 0) {
        connection.rollback();
      } else if (isQuiet && random.nextInt(20) == 0) {
        statement.execute("prepare transaction '" + name + "'");
        connection.setAutoCommit(true);
        pause(random.nextInt(400));
        statement.execute("commit prepared '" + name + "'");
      } else {
        connection.commit();
      }
    } catch (SQLException e) {
      if (connection.isClosed() || !connection.isValid(5)) {
        throw e;
      }
      connection.rollback(); // it could not be serialized, or be prepared after a NOTIFY
    } finally {
      if (!connection.isClosed()) {
        connection.setAutoCommit(true);
      }
    }
  }

  /** One, or now and then many by one statement. */
  private void store(Connection connection) throws SQLException {
    var count = random.nextInt(4) == 0 ? 1 + random.nextInt(MANY) : 1;
    var orders =
        LongStream.range(0, count).mapToObj(n -> new Order(ids.incrementAndGet(), "item")).toList();
    Publisher.standard().publishAll(connection, Stage.ORDERS, orders);
    try (var insert =
        connection.prepareStatement("insert into written select unnest(?::text::bigint[])")) {
      insert.setString(
          1,
          orders.stream()
              .map(order -> String.valueOf(order.id()))
              .collect(Collectors.joining(",", "{", "}")));
      insert.execute();
    }
  }

  private static boolean isQuiet(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select not pgonce.is_asleep('orders')")) {
      row.next();
      return row.getBoolean(1);
    }
  }

  /**
   * There is nothing to wait for: what is tried is that it takes that long, whatever else happens.
   */
  static void pause(int millis) {
    LockSupport.parkNanos(Duration.ofMillis(millis).toNanos());
  }
}
