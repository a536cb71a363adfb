package org.pgonce.example.latency;

import com.impossibl.postgres.api.jdbc.PGConnection;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.concurrent.Semaphore;
import java.util.function.LongConsumer;
import org.pgonce.example.DatabaseAddress;

/**
 * What a careful developer would write without pgonce: a trigger that stores and notifies, one
 * thread that a callback wakes, a claim with SKIP LOCKED, the handler's insert, delete, commit. No
 * retries, no dead letters, no guards, no second look for what nobody woke it for.
 */
final class ByHand extends Contender {

  private static final String INSERT = "insert into author_by_hand (id, name) values (?, 'Author')";
  private static final String CLAIM =
      "select id, author_id, name from queue_by_hand order by id limit 1 for update skip locked";
  private static final String HANDLE =
      "insert into post_by_hand (author_id, content) values (?, ?)";
  private static final String DELETE = "delete from queue_by_hand where id = ?";

  private final HikariDataSource pool;
  private final LongConsumer handler;
  private final PGConnection listening;
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread worker = new Thread(this::work, "by-hand");
  private volatile boolean closed;

  ByHand(DatabaseAddress address, LongConsumer handler) throws SQLException {
    super(address, INSERT);
    this.handler = handler;
    pool = address.pool("by hand", 2);
    listening = NgListening.to(address, "by_hand", payload -> wakeUps.release());
    worker.start();
  }

  private void work() {
    try {
      while (!closed) {
        wakeUps.acquire();
        wakeUps.drainPermits();
        while (!closed && handleOne()) {
          // until nothing is left
        }
      }
    } catch (InterruptedException e) {
      // closed
    } catch (SQLException e) {
      throw new IllegalStateException("by hand: " + e.getMessage(), e);
    }
  }

  private boolean handleOne() throws SQLException {
    try (var connection = pool.getConnection()) {
      connection.setAutoCommit(false); // sends nothing
      try (var claim = connection.prepareStatement(CLAIM);
          var row = claim.executeQuery()) {
        if (!row.next()) {
          connection.rollback();
          return false;
        }
        handler.accept(row.getLong(2));
        try (var handle = connection.prepareStatement(HANDLE);
            var delete = connection.prepareStatement(DELETE)) {
          handle.setLong(1, row.getLong(2));
          handle.setString(2, "Welcome, " + row.getString(3) + "!");
          handle.executeUpdate();
          delete.setLong(1, row.getLong(1));
          delete.executeUpdate();
        }
      }
      connection.commit();
      return true;
    }
  }

  @Override
  public void close() throws SQLException {
    closed = true;
    listening.close();
    worker.interrupt();
    try {
      worker.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    pool.close();
    super.close();
  }
}
