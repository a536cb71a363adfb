package org.pgonce.benchmarks.recovery;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.herd.HerdProcess;
import org.pgonce.benchmarks.work.Address;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.Wall;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.TestDatabase;

/**
 * One process has a piece of work in its hands, another listens beside it. Then the first one, or
 * the server, is gone.
 */
public final class Recovery {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final long SEED = 20_261_122;
  private static final long PAUSE_NANOS = 5_000_000;

  private final TestDatabase database;
  private final RandomGenerator random = new Random(SEED);

  /** What takes the work out of the holder's hands. Returns when that is done. */
  @FunctionalInterface
  public interface Loss {
    void of(JvmProcess holder) throws Exception;
  }

  public Recovery(TestDatabase database) throws SQLException {
    this.database = database;
    new ByPgOnce().prepare(database);
  }

  /**
   * Milliseconds from the loss to the begin of the handler that brings it to its end.
   *
   * @throws MiscountException if nobody handles it within a minute
   */
  public double millis(Loss loss) throws Exception {
    database.execute("truncate effect, work");
    try (var holder = Address.tell(JvmProcess.of(HolderProcess.class), database).start()) {
      database.execute("insert into work (id, name) values (1, 'Author')");
      var unused = holder.awaitLine(HolderProcess.HOLDS, BOUND);
      try (var other = HerdProcess.start(database, new Plan(1, 1), Duration.ZERO)) {
        unused = other.awaitLine(HerdProcess.READY, BOUND);
        // Until it has looked for the first time, it would find the work anyway. At random, as it
        // looks each second from then on.
        LockSupport.parkNanos(Duration.ofMillis(random.nextInt(3_000, 4_000)).toNanos());
        loss.of(holder);
        var lost = Wall.micros();
        return (handledAt() - lost) / 1_000.0;
      }
    }
  }

  private long handledAt() throws SQLException {
    for (var end = System.nanoTime() + BOUND.toNanos(); System.nanoTime() - end < 0; ) {
      var at = database.queryString("select min(content) from effect");
      if (at != null) {
        return Long.parseLong(at);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    throw new MiscountException("nobody has handled what was lost within " + BOUND);
  }

  /** So many times; the first is as good as the others. */
  public Turns rounds(int count, Loss loss) throws Exception {
    var turns = new Turns();
    for (var round = 0; round < count; round++) {
      turns.add(millis(loss));
    }
    return turns;
  }
}
