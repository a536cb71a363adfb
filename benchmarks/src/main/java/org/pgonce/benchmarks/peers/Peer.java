package org.pgonce.benchmarks.peers;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.pgonce.benchmarks.work.Contender;
import org.pgonce.benchmarks.work.Effects;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.Pools;
import org.pgonce.testkit.TestDatabase;

/**
 * What the contenders of the peers have in common: a pool as pgonce's, and the handler's effect.
 */
abstract class Peer implements Contender {

  static final String CONTENT = "Welcome, Author!";

  final TestDatabase database;
  final Plan plan;
  final HikariDataSource pool;
  private final String tables;

  /**
   * One that does nothing yet.
   *
   * @param tables that it stores work in
   */
  Peer(TestDatabase database, Plan plan, String tables) {
    this.database = database;
    this.plan = plan;
    this.pool = Pools.of(database, plan.poolSize());
    this.tables = tables;
  }

  @Override
  public void empty() throws SQLException {
    database.execute("truncate effect, " + tables);
  }

  @Override
  public final void settle() throws SQLException {
    for (var statement : new String[] {"vacuum (analyze) effect, " + tables, "checkpoint"}) {
      database.execute(statement);
    }
  }

  static void writeEffect(Connection connection, long id) throws SQLException {
    try (var insert = connection.prepareStatement(Effects.INSERT)) {
      insert.setLong(1, id);
      insert.setString(2, CONTENT);
      insert.executeUpdate();
    }
  }

  /** Where the peer runs handlers outside of its own transaction: in one of their own. */
  final void writeEffectAlone(long id) throws SQLException {
    try (var connection = pool.getConnection()) {
      writeEffect(connection, id);
    }
  }

  /** Stops those workers that the peer does not stop itself. */
  static void end(ExecutorService workers) {
    workers.shutdown();
    try {
      if (!workers.awaitTermination(1, TimeUnit.MINUTES)) {
        throw new IllegalStateException("workers still run a minute after their end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws SQLException {
    pool.close();
  }
}
