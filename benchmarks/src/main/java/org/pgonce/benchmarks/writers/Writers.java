package org.pgonce.benchmarks.writers;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.TestDatabase;

/** Connections that each insert one row after the other, with a commit each, until it is closed. */
final class Writers implements AutoCloseable {

  private static final String INSERT = "insert into work (id, name) values (?, 'Author')";

  private final TestDatabase database;
  private final AtomicLong ids = new AtomicLong();
  private final AtomicLong committed = new AtomicLong();
  private final List<Thread> threads = new ArrayList<>();
  private volatile @Nullable SQLException failure;
  private volatile boolean closed;

  /** Starts them; returns when all are connected. */
  Writers(TestDatabase database, int count) throws InterruptedException {
    this.database = database;
    var connected = new CountDownLatch(count);
    for (var i = 0; i < count; i++) {
      var thread = new Thread(() -> write(connected), "writer-" + i);
      threads.add(thread);
      thread.start();
    }
    connected.await();
  }

  private void write(CountDownLatch connected) {
    try (var connection = database.dataSource().getConnection();
        var insert = connection.prepareStatement(INSERT)) {
      connected.countDown();
      connected.await();
      while (!closed) {
        insert.setLong(1, ids.incrementAndGet());
        insert.executeUpdate();
        committed.incrementAndGet();
      }
    } catch (SQLException e) {
      failure = e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      connected.countDown(); // whatever it was: the others go on, and the end tells
    }
  }

  /** Commits per second of the time to come. */
  double perSecond(Duration time) {
    var begun = System.nanoTime();
    var before = committed.get();
    for (var left = time.toNanos(); left > 0; left = time.toNanos() - (System.nanoTime() - begun)) {
      LockSupport.parkNanos(left);
    }
    return (committed.get() - before) * 1e9 / (System.nanoTime() - begun);
  }

  /** Returns when all have ended: how many they have committed. */
  long end() throws SQLException {
    close();
    return committed.get();
  }

  @Override
  public void close() throws SQLException {
    closed = true;
    try {
      for (var thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (failure != null) {
      throw failure;
    }
  }
}
