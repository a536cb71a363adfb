package org.pgonce.wakeup;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;

/**
 * Publishes in transactions of all kinds: of each isolation level, short ones and such as stay open
 * for a while, prepared ones, rolled back in whole or in part. What is committed says so in table
 * {@code written}, in the same transaction: whether it is, only the database knows where the server
 * crashes.
 */
public final class RandomWriter implements Runnable {

  private static final int[] LEVELS = {
    Connection.TRANSACTION_READ_COMMITTED,
    Connection.TRANSACTION_REPEATABLE_READ,
    Connection.TRANSACTION_SERIALIZABLE
  };

  // A rest ends when listeners have caught up, which takes its time on a busy machine. It is
  // bounded so that a writer ends if the test does not end it.
  private static final Duration LONGEST_REST = Duration.ofMinutes(20);

  private static final int MANY = 100;

  private final DataSource dataSource;
  private final Random random;
  private final String name;
  private final AtomicLong ids;
  private final Course course;
  private long transactions;
  private long unannounced;

  /** What all writers do for now. */
  public static final class Course {
    private final AtomicInteger open = new AtomicInteger();
    private volatile boolean resting;
    private volatile boolean keepingOpen;
    private volatile boolean stopped;
    private volatile @Nullable RuntimeException failure;

    /** Whether nobody begins a transaction. */
    void rest(boolean now) {
      resting = now;
    }

    /** Whether a transaction that has read an open gate stays open, or prepared. */
    void keepOpen(boolean now) {
      keepingOpen = now;
    }

    /** Fails if a writer has. */
    void requireWriters() {
      var failed = failure;
      if (failed != null) {
        throw new IllegalStateException("a writer has ended before it was to", failed);
      }
    }

    /** How many are kept open. */
    int open() {
      return open.get();
    }

    void stop() {
      stopped = true;
    }

    private void await(BooleanSupplier condition) {
      Awaitility.await()
          .atMost(LONGEST_REST)
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(1))
          .pollInSameThread()
          .until(() -> stopped || condition.getAsBoolean());
    }
  }

  /**
   * @param name of its prepared transactions
   */
  public RandomWriter(
      DataSource dataSource, long seed, String name, AtomicLong ids, Course course) {
    this.dataSource = dataSource;
    this.random = new Random(seed);
    this.name = name;
    this.ids = ids;
    this.course = course;
  }

  public long transactions() {
    return transactions;
  }

  /** How many of its transactions have read an open gate. */
  public long unannounced() {
    return unannounced;
  }

  @Override
  public void run() {
    try {
      write();
    } catch (RuntimeException e) {
      course.failure = e;
      throw e;
    }
  }

  private void write() {
    while (!course.stopped) {
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
    course.await(() -> !course.resting);
    return !course.stopped;
  }

  private void transaction(Connection connection) throws SQLException {
    connection.setTransactionIsolation(LEVELS[random.nextInt(LEVELS.length)]);
    connection.setAutoCommit(false);
    var name = this.name + "_" + ids.incrementAndGet();
    try {
      store(connection);
      if (random.nextInt(10) == 0) {
        var before = connection.setSavepoint();
        store(connection);
        connection.rollback(before);
      }
      var isUnannounced = isUnannounced(connection);
      transactions++;
      unannounced += isUnannounced ? 1 : 0;
      if (random.nextInt(20) == 0) {
        pause(random.nextInt(600));
      }
      end(connection, name, isUnannounced);
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

  private void end(Connection connection, String name, boolean isUnannounced) throws SQLException {
    if (isUnannounced && course.keepingOpen) {
      course.open.incrementAndGet();
      try {
        end(connection, name, random.nextBoolean(), () -> course.await(() -> !course.keepingOpen));
      } finally {
        course.open.decrementAndGet();
      }
    } else if (random.nextInt(10) == 0) {
      connection.rollback();
    } else {
      var prepares = isUnannounced && random.nextInt(20) == 0;
      end(connection, name, prepares, () -> pause(prepares ? random.nextInt(400) : 0));
    }
  }

  private static void end(Connection connection, String name, boolean prepares, Runnable before)
      throws SQLException {
    if (prepares) {
      execute("prepare transaction '" + name + "'", connection);
      connection.setAutoCommit(true);
    }
    before.run();
    if (prepares) {
      execute("commit prepared '" + name + "'", connection);
    } else {
      connection.commit();
    }
  }

  private static void execute(String sql, Connection connection) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /**
   * One, or now and then many by one statement; not where they are to be quick, so that the gate
   * opens on a slow machine too.
   */
  private void store(Connection connection) throws SQLException {
    var many = random.nextInt(4) == 0 && !course.keepingOpen;
    var count = many ? 1 + random.nextInt(MANY) : 1;
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

  private static boolean isUnannounced(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row =
            statement.executeQuery("select not pgonce.needs_notify(pgonce.gate_of('orders'))")) {
      row.next();
      return row.getBoolean(1);
    }
  }

  /**
   * There is nothing to wait for: what is tried is that it takes that long, whatever else happens.
   */
  public static void pause(int millis) {
    LockSupport.parkNanos(Duration.ofMillis(millis).toNanos());
  }
}
