package org.pgonce.benchmarks.work;

import com.impossibl.postgres.api.jdbc.PGConnection;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.TestDatabase;

/** Workers by hand. A wake-up wakes one of them, and it works until nothing is left. */
final class HandAtWork implements OnWorkTable {

  private static final long LOOK_EACH_MS = 10;

  private final TestDatabase database;
  private final Plan plan;
  private final ByHand way;
  private final WorkTable table;
  private final HikariDataSource pool;
  private final Semaphore wakeUps = new Semaphore(0);
  private final List<Thread> workers = new ArrayList<>();
  private @Nullable PGConnection listening;
  private volatile @Nullable Exception failure;
  private volatile boolean closed;

  HandAtWork(TestDatabase database, Plan plan, ByHand way) throws SQLException {
    this.database = database;
    this.plan = plan;
    this.way = way;
    table = new WorkTable(database);
    pool = Pools.of(database, plan.poolSize());
  }

  @Override
  public WorkTable table() {
    return table;
  }

  @Override
  public void empty() throws SQLException {
    table.execute("truncate work, effect, queue_by_hand");
  }

  @Override
  public void settle() throws SQLException {
    table.settle("work, effect, queue_by_hand");
  }

  @Override
  public void start(LongConsumer handler) throws SQLException {
    if (way.notifies()) {
      listening = NgListening.to(database, "by_hand", payload -> wakeUps.release());
    }
    // All look for what is there already.
    wakeUps.release(plan.workers());
    for (var i = 0; i < plan.workers(); i++) {
      var worker = new Thread(() -> work(handler), "by-hand-" + i);
      workers.add(worker);
      worker.start();
    }
  }

  private void work(LongConsumer handler) {
    var claim = new HandClaim(way.steps(), plan.batch());
    try {
      while (!closed) {
        if (way.notifies()) {
          wakeUps.acquire();
        } else {
          var unused = wakeUps.tryAcquire(LOOK_EACH_MS, TimeUnit.MILLISECONDS);
        }
        handleAll(claim, handler);
      }
    } catch (InterruptedException e) {
      // closed
    } catch (SQLException e) {
      if (!closed) {
        failure = e;
      }
    }
  }

  private void handleAll(HandClaim claim, LongConsumer handler) throws SQLException {
    try (var connection = pool.getConnection()) {
      connection.setAutoCommit(false); // sends nothing
      while (!closed && handleOne(connection, claim, handler)) {
        // until nothing is left
      }
    }
  }

  private static boolean handleOne(Connection connection, HandClaim claim, LongConsumer handler)
      throws SQLException {
    var rows = claim.claim(connection);
    if (rows.isEmpty()) {
      connection.rollback();
      return false;
    }
    rows.forEach(row -> handler.accept(row.workId()));
    handle(connection, rows);
    claim.settle(connection, rows);
    connection.commit();
    return true;
  }

  private static void handle(Connection transaction, List<Claimed> rows) throws SQLException {
    if (rows.size() == 1) {
      var row = rows.get(0);
      try (var insert = transaction.prepareStatement(Effects.INSERT)) {
        insert.setLong(1, row.workId());
        insert.setString(2, "Welcome, " + row.name() + "!");
        insert.executeUpdate();
      }
      return;
    }
    try (var insert = transaction.prepareStatement(Effects.INSERT_MANY)) {
      insert.setString(1, Claimed.array(rows, Claimed::workId));
      insert.executeUpdate();
    }
  }

  @Override
  public long left() throws SQLException {
    return database.queryLong("select count(*) from queue_by_hand");
  }

  @Override
  public void close() throws SQLException {
    closed = true;
    try {
      for (var worker : workers) {
        worker.interrupt();
        worker.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (listening != null) {
      listening.close();
    }
    pool.close();
    table.close();
    if (failure != null) {
      throw new IllegalStateException("by hand: " + failure.getMessage(), failure);
    }
  }
}
