package org.pgonce.internal.listen;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.internal.concurrent.Threads;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Short transactions on all connections of a pool, some rolled back, whether they fail or not. */
final class AppTraffic implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(AppTraffic.class);

  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean goesOn = true;

  AppTraffic(HikariDataSource pool) {
    for (var i = 0; i < pool.getMaximumPoolSize(); i++) {
      var thread = Threads.daemon("app-traffic-" + i, () -> run(pool));
      threads.add(thread);
      thread.start();
    }
  }

  private void run(HikariDataSource pool) {
    for (var n = 0; goesOn; n++) {
      try (var connection = pool.getConnection()) {
        connection.setAutoCommit(false);
        try (var statement =
            connection.prepareStatement(
                n % 2 == 0
                    ? "update app set n = n + 1 where id = ?"
                    : "select n from app where id = ?")) {
          statement.setInt(1, 1);
          statement.execute();
        }
        if (n % 3 == 0) {
          connection.rollback();
        } else {
          connection.commit();
        }
      } catch (SQLException
          | RuntimeException e) { // pgjdbc loses its place where names are mixed up
        LOG.trace("tried again", e);
      }
    }
  }

  @Override
  public void close() throws InterruptedException {
    goesOn = false;
    for (var thread : threads) {
      thread.join();
    }
  }
}
