package org.pgonce.triggers;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.pgonce.testkit.TestDatabase;

/**
 * Threads that write to random tables until they are closed, and time each statement. Some commit
 * at once, and rest for a moment, as they are not to take the processors from those that they write
 * beside; the others write to three tables and keep the transaction open for up to a second. Each
 * has rows of its own, so that none waits for another.
 */
final class BusyWriters implements AutoCloseable {

  private static final List<String> WRITES =
      List.of(
          "insert into %s values (?, 'Ann')",
          "insert into %s values (?, 'Bob')",
          "update %s set name = 'Eve' where id = ?",
          "delete from %s where id = ?");

  private static final long REST_NANOS = 3_000_000;

  private final TestDatabase database;
  private final List<String> tables;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong longestNanos = new AtomicLong();
  private final AtomicLong written = new AtomicLong();
  private final Queue<SQLException> failures = new ConcurrentLinkedQueue<>();
  private volatile boolean stopped;

  BusyWriters(TestDatabase database, List<String> tables, int quick, int slow, long seed) {
    this.database = database;
    this.tables = tables;
    for (var n = 0; n < quick + slow; n++) {
      var random = new Random(seed + n);
      var isSlow = n >= quick;
      var id = n;
      var thread = new Thread(() -> write(random, id, isSlow), "writer-" + n);
      thread.start();
      threads.add(thread);
    }
  }

  private void write(Random random, int id, boolean slow) {
    try (var connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(!slow);
      while (!stopped) {
        writeOne(connection, random, id);
        if (!slow) {
          LockSupport.parkNanos(REST_NANOS);
        } else {
          writeOne(connection, random, id);
          writeOne(connection, random, id);
          try (var statement = connection.createStatement()) {
            statement.execute("select pg_sleep(%s)".formatted(random.nextDouble()));
          }
          connection.commit();
        }
      }
    } catch (SQLException e) {
      failures.add(e);
    }
  }

  private void writeOne(Connection connection, Random random, int id) throws SQLException {
    var sql = WRITES.get(random.nextInt(WRITES.size()));
    var table = tables.get(random.nextInt(tables.size()));
    try (var statement = connection.prepareStatement(sql.formatted(table))) {
      statement.setInt(1, id);
      var begun = System.nanoTime();
      statement.execute();
      longestNanos.accumulateAndGet(System.nanoTime() - begun, Math::max);
    }
    written.incrementAndGet();
  }

  /** Of a single statement, since the last call. */
  Duration longestWait() {
    return Duration.ofNanos(longestNanos.getAndSet(0));
  }

  long written() {
    return written.get();
  }

  /** That a writer was given instead of its row. */
  List<SQLException> failures() {
    return List.copyOf(failures);
  }

  @Override
  public void close() throws InterruptedException {
    stopped = true;
    for (var thread : threads) {
      thread.join();
    }
  }
}
