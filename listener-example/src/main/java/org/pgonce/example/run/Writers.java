package org.pgonce.example.run;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads that insert authors, one row and commit after the other. The server may go away in the
 * meantime: a row whose commit is in doubt is inserted again under the same id, and ON CONFLICT
 * tells whether it was there.
 */
final class Writers implements AutoCloseable {

  private static final String INSERT =
      "insert into author (id, name) values (?, ?) on conflict (id) do nothing";
  private static final Duration RETRY = Duration.ofMillis(20);
  private static final Duration LONGEST_OUTAGE = Duration.ofSeconds(60);

  private final DatabaseAddress address;
  private final Plan plan;
  private final AtomicLong next = new AtomicLong();
  private final AtomicLong inserted = new AtomicLong();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final CountDownLatch lastRows = new CountDownLatch(1);
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;
  private volatile long begun;

  /**
   * What is written.
   *
   * @param firstId of the rows, which are numbered from there
   * @param held rows at the end that wait for {@link #releaseLastRows}
   * @param perSecond rows per second, 0 for as many as go
   */
  record Plan(int writers, long firstId, long rows, long held, long perSecond) {}

  Writers(DatabaseAddress address, Plan plan) {
    this.address = address;
    this.plan = plan;
  }

  void start() {
    begun = System.nanoTime();
    for (var i = 1; i <= plan.writers(); i++) {
      var thread = new Thread(this::write, "writer-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
  }

  long inserted() {
    return inserted.get();
  }

  void releaseLastRows() {
    lastRows.countDown();
  }

  /** Complains if a writer has given up. */
  void check() {
    var problem = failure.get();
    if (problem != null) {
      throw new CannotRunException("a writer has given up: " + problem.getMessage(), problem);
    }
  }

  /** Waits until every row is committed. */
  void awaitEnd() throws InterruptedException {
    for (var thread : threads) {
      thread.join();
    }
    check();
  }

  private void write() {
    try {
      var row = next.getAndIncrement();
      var outageSince = 0L;
      while (row < plan.rows() && !closed) {
        try (var connection = address.dataSource().getConnection();
            var insert = connection.prepareStatement(INSERT)) {
          while (row < plan.rows() && !closed) {
            awaitTurn(row);
            insert.setLong(1, plan.firstId() + row);
            insert.setString(2, "Author " + (plan.firstId() + row));
            insert.executeUpdate();
            inserted.incrementAndGet();
            outageSince = 0;
            row = next.getAndIncrement();
          }
        } catch (SQLException e) {
          outageSince = outageSince == 0 ? System.nanoTime() : outageSince;
          if (!isOutage(e) || System.nanoTime() - outageSince > LONGEST_OUTAGE.toNanos()) {
            throw e;
          }
          LockSupport.parkNanos(RETRY.toNanos());
        }
      }
    } catch (SQLException | InterruptedException | RuntimeException e) {
      failure.compareAndSet(null, e);
    }
  }

  private void awaitTurn(long row) throws InterruptedException {
    if (row >= plan.rows() - plan.held()) {
      lastRows.await();
    }
    if (plan.perSecond() > 0) {
      var due = begun + row * Duration.ofSeconds(1).toNanos() / plan.perSecond();
      for (var left = due - System.nanoTime();
          left > 0 && !closed;
          left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
  }

  /** SQLState 08: no connection; 57P: the server goes down or comes up. */
  private static boolean isOutage(SQLException e) {
    var state = String.valueOf(e.getSQLState());
    return state.startsWith("08") || state.startsWith("57P");
  }

  @Override
  public void close() {
    closed = true;
    threads.forEach(Thread::interrupt);
  }
}
